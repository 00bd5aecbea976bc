/** Pieces of a list that is too long to be held as a whole, shared by the streams that read it. */
export interface Pieces<Cursor, Piece> {
  /** The present, on a clock that counts the pieces which were asked for. */
  now(): number
  /** The piece after the cursor, not read before `since`: one that another stream had read will do. */
  read(after: Cursor, since: number): Promise<Piece>
}

/** Pieces that are kept for streams that follow closely; one that has fallen further behind reads its own. */
const kept = 32

export function sharePieces<Cursor, Piece>(read: (after: Cursor) => Promise<Piece>): Pieces<Cursor, Piece> {
  let clock = 0
  const recent = new Map<Cursor, { askedAt: number; piece: Promise<Piece> }>()
  return {
    now: () => clock,
    read(after, since) {
      const known = recent.get(after)
      if (known !== undefined && known.askedAt > since) return known.piece
      const piece = read(after)
      recent.delete(after)
      recent.set(after, { askedAt: ++clock, piece })
      const [oldest] = recent.keys()
      if (recent.size > kept) recent.delete(oldest as Cursor)
      // Streams that wait for it fail with it; later ones read again.
      piece.catch(() => {
        if (recent.get(after)?.piece === piece) recent.delete(after)
      })
      return piece
    }
  }
}
