import t, { type Test } from 'tap'
import {
  PieceStatements,
  TableReader
} from '../../../src/framework/lists/table-reader.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'

/** A reader of this many notes. */
async function readerOf(t: Test, rows: number, itemJson: string) {
  const url = await createDatabase(t)
  await query(
    url,
    `INSERT INTO notes (name)
     SELECT 'x' FROM generate_series(1, $1::int)`,
    [rows]
  )
  const database = openDatabase(t, url)
  const listed = { table: 'notes', orderColumn: 'id', itemJson }

  return new TableReader(database, new PieceStatements(database, listed))
}

/** Reads the whole table, and returns the sizes of its pieces. */
async function pieceSizes(reader: TableReader): Promise<number[]> {
  const sizes: number[] = []
  let lastOrderValue: string | null = null
  do {
    const piece = await reader.readPiece(lastOrderValue)
    sizes.push(piece.bytes.length)
    lastOrderValue = piece.lastOrderValue
  } while (lastOrderValue !== null)

  return sizes
}

t.test('an empty table is an empty array', async (t) => {
  const reader = await readerOf(t, 0, 'id::text')
  const piece = await reader.readPiece(null)
  t.same(piece, { bytes: Buffer.from('[]'), lastOrderValue: null })
})

t.test('a row without JSON is an error, and not left out', async (t) => {
  const reader = await readerOf(t, 3, "CASE WHEN id <> 2 THEN '{}' END")
  await t.rejects(reader.readPiece(null), {
    message: 'the JSON of 1 rows of notes is NULL'
  })
})

t.test(
  'pieces of long rows have half of 256 KiB, after the first',
  async (t) => {
    const longRow = `'"' || repeat('x', 1000) || '"'`
    const reader = await readerOf(t, 1000, longRow)
    const [first = 0, ...rest] = await pieceSizes(reader)
    t.ok(first < 2 ** 18)
    rest.pop()
    t.ok(rest.length > 3)
    for (const size of rest) t.ok(Math.abs(size - 2 ** 17) < 2000, `${size}`)
  }
)

t.test('a row of any length is a piece', async (t) => {
  const reader = await readerOf(t, 2, `'"' || repeat('x', 1000000) || '"'`)
  t.same(await pieceSizes(reader), [1_000_003, 1_000_003, 1])
})
