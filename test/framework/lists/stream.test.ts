import t from 'tap'
import { unlimitedTime } from '../../../src/framework/lists/send-timer.ts'
import { ListStreams } from '../../../src/framework/lists/stream.ts'
import type {
  ListPiece,
  TableReader
} from '../../../src/framework/lists/table-reader.ts'

const start = {
  kind: 'start' as const,
  chunks: [Buffer.from('[1')],
  size: 2,
  lastOrderValue: '1'
}

const pieces: Record<string, ListPiece> = {
  1: { bytes: Buffer.from(',2'), lastOrderValue: '2' },
  2: { bytes: Buffer.from(',3]'), lastOrderValue: null }
}

/** A reader that records what it reads. */
function readerOf(table: Record<string, ListPiece>) {
  const reads: (string | null)[] = []
  const reader: Pick<TableReader, 'readPiece'> = {
    readPiece: (previousId) => {
      reads.push(previousId)
      const piece = table[String(previousId)]
      if (piece !== undefined) return Promise.resolve(piece)
      return Promise.reject(new Error('no such piece'))
    }
  }

  return { reader, reads }
}

t.test(
  'the time to read runs from chunk to chunk, but not while a piece is read',
  async (t) => {
    const events: string[] = []
    const readPiece = (previous: string | null) => {
      events.push('read a piece')
      return readerOf(pieces).reader.readPiece(previous)
    }
    const timer = {
      pause: () => events.push('pause'),
      restart: () => events.push('restart')
    }

    const streams = new ListStreams({ readPiece })
    for await (const chunk of streams.continue(start, timer))
      events.push(String(chunk))

    const laterPiece = ['pause', 'read a piece', 'restart']
    t.same(events, [
      '[1',
      'restart',
      ...laterPiece,
      ',2',
      'restart',
      ...laterPiece,
      ',3]',
      'restart'
    ])
  }
)

t.test('streams that have sent the same items share a piece', async (t) => {
  const { reader, reads } = readerOf(pieces)
  const streams = new ListStreams(reader)
  const readAll = async () => {
    const chunks = []
    for await (const chunk of streams.continue(start, unlimitedTime))
      chunks.push(chunk)
    return String(Buffer.concat(chunks))
  }
  const lists = await Promise.all([readAll(), readAll(), readAll()])
  t.same(lists, ['[1,2,3]', '[1,2,3]', '[1,2,3]'])
  t.same(reads, ['1', '2'])
})

t.test(
  'a stream has its piece before another stream has its own',
  async (t) => {
    const reads: string[] = []
    const reader = {
      readPiece: (previous: string | null) => {
        reads.push(String(previous))
        const piece = pieces[String(previous)]
        // The piece after 2 is never read.
        const isFirst = previous === '1' && piece !== undefined

        return isFirst
          ? Promise.resolve(piece)
          : new Promise<ListPiece>(() => {})
      }
    }

    const streams = new ListStreams(reader)
    const fast = streams.continue(start, unlimitedTime)
    const later = { ...start, lastOrderValue: '2' }
    const slow = streams.continue(later, unlimitedTime)
    await Promise.all([fast.next(), slow.next()])

    const piece = fast.next()
    slow.next().catch(() => {})
    t.same(await piece, { value: pieces[1]?.bytes, done: false })
  }
)

t.test('a piece that cannot be read fails the stream', async (t) => {
  const streams = new ListStreams(readerOf({}).reader)
  const chunks = streams.continue(start, unlimitedTime)
  t.same(await chunks.next(), { value: start.chunks[0], done: false })
  await t.rejects(chunks.next(), { message: 'no such piece' })
})
