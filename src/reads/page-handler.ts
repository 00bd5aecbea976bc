import type { FastifyReply } from 'fastify'
import type { SerializedJson } from '../openapi/operation-handler.ts'
import type { Database, Statement } from '../postgres/database.ts'

/** A row of a page. */
interface PageRow<Item> {
  id: number
  json: SerializedJson<Item>
}

/** The parameters of a page. The Link to the next page repeats them. */
interface PageQuery {
  /** The id of the last item of the page before. */
  after: number
  limit: number
  [filter: string]: string | number
}

/**
 * The handler of an operation that reads a page. Requests that wait for the
 * same page share a statement.
 *
 * @param statement selects `id` and `json` of the rows after the id `$1`, at
 *   most `$2`; the filters of the query follow, in the order of their names
 */
export function makePageHandler<Item>(
  database: Database,
  statement: Statement
) {
  const readRows = database.share(statement, (values: unknown[]) =>
    database.read<PageRow<Item>>(statement, values)
  )

  return async (
    { query }: { query: PageQuery },
    reply: FastifyReply
  ): Promise<SerializedJson<Item[]>> => {
    const { after, limit, ...filters } = query
    // One more row than the page has tells whether another page follows.
    const values = [after, limit + 1, ...valuesInNameOrder(filters)]
    const rows = await readRows(values)
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    if (rows.length > page.length && last !== undefined)
      // Unlike the number of a page, an id does not shift when items are
      // created meanwhile.
      reply.header('link', linkTo({ ...query, after: last.id }))

    return `[${page.map(({ json }) => json).join(',')}]` as SerializedJson<
      Item[]
    >
  }
}

/** Not in the order in which the client sent them. */
const valuesInNameOrder = (filters: Record<string, unknown>): unknown[] =>
  Object.keys(filters)
    .sort()
    .map((name) => filters[name])

/** It is relative, because a proxy may hide the address (RFC 8288). */
function linkTo(query: PageQuery): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    parameters.set(name, String(value))

  return `<?${parameters.toString()}>; rel="next"`
}
