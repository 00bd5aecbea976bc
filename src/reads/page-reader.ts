import type { FastifyReply } from 'fastify'
import type { Database, Statement } from '../postgres/database.ts'
import type { RawJson } from '../postgres/row-json.ts'
import { sql } from '../postgres/sql.ts'

/** Pages that one statement reads. */
const maxPages = 10

interface Page<Item> {
  items: RawJson<Item[]>
  /** The id of its last item, if another page follows. */
  next: number | null
}

type WantedPage = [after: number, size: number, status: string | undefined]

/** The parameters of a page. The Link to the next page repeats them. */
interface PageQuery {
  /** The id of the last item of the page before. */
  after: number
  limit: number
  status?: string
}

/**
 * SQL for the pages after the ids `$1`, of the sizes `$2`, of the statuses `$3`.
 * One row more than a page has tells whether another page follows. Unlike the
 * number of a page, an id does not shift when rows are created meanwhile.
 */
const pagesSql = (rows: string) => sql`
  SELECT
    '[' || coalesce(array_to_string(items[:size], ','), '') || ']' AS items,
    CASE WHEN cardinality(ids) > size THEN ids[size] END AS next
  FROM unnest($1::bigint[], $2::integer[], $3::text[])
    WITH ORDINALITY AS page (after, size, status, ordinal)
  CROSS JOIN LATERAL (
    SELECT array_agg(id) AS ids, array_agg(json) AS items
    FROM (${rows} LIMIT size + 1) AS item
  ) AS found
  ORDER BY ordinal
`

/**
 * Returns a function that reads a page and responds with it. Requests that wait
 * at the same time share a statement, and those for the same page its result.
 *
 * @param rows selects `id` and `json` of the rows after the id `page.after`, in
 *   their order, perhaps of `page.status`
 */
export function pageReader<Item>(
  database: Database,
  statementName: Statement['name'],
  rows: string
) {
  const statement = database.prepare(statementName, pagesSql(rows))
  const readPage = database.batch(
    statement,
    (pages: WantedPage[]) => {
      const arrays = [
        pages.map(([after]) => after),
        pages.map(([, size]) => size),
        pages.map(([, , status]) => status)
      ]
      return database.run<Page<Item>>(statement, arrays, { isRepeatable: true })
    },
    { maxSize: maxPages, joinsEqual: true }
  )

  return async (
    query: PageQuery,
    reply: FastifyReply
  ): Promise<RawJson<Item[]>> => {
    const { after, limit, status } = query
    const { items, next } = await readPage([after, limit, status])
    if (next !== null) reply.header('link', linkTo({ ...query, after: next }))
    return items
  }
}

/** It is relative, because a proxy may hide the address (RFC 8288). */
function linkTo(query: PageQuery): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    parameters.set(name, String(value))

  return `<?${parameters.toString()}>; rel="next"`
}
