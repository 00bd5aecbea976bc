import t from 'tap'
import { CachedList } from '../../../src/framework/lists/cached-list.ts'
import { ListMemory } from '../../../src/framework/lists/list-memory.ts'
import type { ListPiece } from '../../../src/framework/lists/table-reader.ts'

/** Memory for a list of 8 pieces. */
const limit = 2 ** 20
const pieceSize = limit / 8 - 4096

/** A list of this many pieces, on a table that never changes. */
function listOf(pieces: number, memory: ListMemory) {
  const counts = { reads: 0, unused: 0 }
  const readPiece = (previous: string | null): Promise<ListPiece> => {
    counts.reads++
    const number = Number(previous ?? 0) + 1
    const lastOrderValue = number === pieces ? null : String(number)

    return Promise.resolve({
      bytes: Buffer.alloc(pieceSize, '1'),
      lastOrderValue
    })
  }
  const list = new CachedList(
    { readPiece },
    { version: () => Promise.resolve(1) },
    memory,
    () => counts.unused++
  )

  return { list, counts }
}

async function bodyOf(list: CachedList) {
  const current = await list.current()
  if (current.kind === 'whole') return current.body
  throw new Error('the list is not whole')
}

t.test('many lists share the memory for kept lists', async (t) => {
  const memory = new ListMemory(limit)
  const lists = Array.from({ length: 20 }, () => listOf(1, memory))

  for (const { list } of lists) await list.current()
  const kept = lists.filter(({ counts }) => counts.unused === 0)
  t.equal(kept.length, 8)
  t.same(kept, lists.slice(-8), 'the newest ones')

  for (const { list } of kept) await list.current()
  for (const { counts } of kept) t.equal(counts.reads, 1)
})

t.test('a list that was forgotten is read again', async (t) => {
  const memory = new ListMemory(limit)
  const first = listOf(1, memory)
  await first.list.current()
  await listOf(8, memory).list.current()
  t.same(first.counts, { reads: 1, unused: 1 })

  const list = await first.list.current()
  t.equal(first.counts.reads, 2)
  t.equal(list.kind, 'whole')
})

t.test('of a list beyond the memory, an eighth is kept', async (t) => {
  const memory = new ListMemory(limit)
  const other = listOf(3, memory)
  await other.list.current()

  const { list, counts } = listOf(100, memory)
  t.match(await list.current(), {
    kind: 'start',
    size: 2 * pieceSize,
    lastOrderValue: '2'
  })
  counts.reads = 0
  await list.current()
  t.equal(counts.reads, 0)
  t.equal(other.counts.unused, 0, 'other lists stay')
})

t.test('one row beyond the memory is sent, but not kept', async (t) => {
  const { list, counts } = listOf(1, new ListMemory(pieceSize))
  t.equal((await list.current()).kind, 'whole')
  t.equal(counts.unused, 1)
})

t.test(
  'while other lists take the memory, a list is streamed and not kept',
  async (t) => {
    const memory = new ListMemory(limit)
    const { list, counts } = listOf(3, memory)

    memory.addRead(limit)
    t.match(await list.current(), {
      kind: 'start',
      size: pieceSize,
      lastOrderValue: '1'
    })
    t.same(counts, { reads: 1, unused: 1 })

    memory.endRead(limit)
    t.equal((await list.current()).kind, 'whole')
  }
)

t.test('encodings count only while their list is kept', async (t) => {
  const memory = new ListMemory(limit)
  const { list } = listOf(4, memory)

  const forgotten = await bodyOf(list)
  list.forget()
  t.equal((await forgotten.encodedFor('br')).coding, 'identity')

  const kept = await bodyOf(list)
  t.equal((await kept.encodedFor('br')).coding, 'br')
})

/** A list of one item, the version of its table, whose next read may fail. */
function listOfVersion() {
  const table = { version: 1, fails: false }
  const readPiece = (): Promise<ListPiece> =>
    table.fails
      ? Promise.reject(new Error('cannot be read'))
      : Promise.resolve({
          bytes: Buffer.from(`[${table.version}]`),
          lastOrderValue: null
        })
  const list = new CachedList(
    { readPiece },
    { version: () => Promise.resolve(table.version) },
    new ListMemory(limit)
  )

  return { list, table }
}

t.test(
  'after a failed read, the list from before the change is not sent',
  async (t) => {
    const { list, table } = listOfVersion()
    await list.current()

    table.version = 2
    table.fails = true
    await t.rejects(list.current(), { message: 'cannot be read' })

    table.fails = false
    const { chunks } = await (await bodyOf(list)).encodedFor(undefined)
    t.equal(String(Buffer.concat(chunks)), '[2]')
  }
)

t.test(
  'a list that is forgotten is in use while a request waits',
  async (t) => {
    const { list, counts } = listOf(1, new ListMemory(limit))
    await list.current()

    const waiting = list.current()
    list.forget()
    t.equal(counts.unused, 0)

    const read = await waiting
    t.equal(counts.reads, 2)
    t.equal(await list.current(), read, 'it is kept')

    list.forget()
    t.equal(counts.unused, 1)
  }
)
