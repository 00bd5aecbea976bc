/**
 * Bytes that are counted for each list, whatever its size: its state, and the
 * names of its filter.
 */
const overhead = 4096

/** A list that is kept. */
interface Forgettable {
  /** Frees the memory of the list. It is read again when it is requested. */
  forget(): void
}

/**
 * The memory of all lists that are kept between requests, and of all that are
 * being read. Each has its own limit. The least recently used lists are
 * forgotten first.
 */
export class ListMemory {
  /** Bytes. Only the start of a longer list is kept. */
  readonly maxListSize: number
  /** Bytes at which such a start ends, after the piece that reaches them. */
  readonly startSize: number
  readonly #limit: number
  /** Bytes of each list. The least recently used one is first. */
  readonly #kept = new Map<Forgettable, number>()
  #keptSize = 0
  #readSize = 0

  /** @param limit bytes of all kept lists; the same again for all being read */
  constructor(limit: number) {
    this.#limit = limit
    this.maxListSize = limit - overhead
    this.startSize = limit / 8
  }

  /**
   * Counts bytes of a list that is being read, until `endRead`.
   *
   * @returns false if all lists that are being read exceed the limit
   */
  addRead(size: number): boolean {
    this.#readSize += size
    return this.#readSize <= this.#limit
  }

  endRead(size: number): void {
    this.#readSize -= size
  }

  /**
   * Counts a list that is kept from now on.
   *
   * @returns false if it alone exceeds the limit: it must not be kept
   */
  keep(list: Forgettable, size: number): boolean {
    this.remove(list)
    return this.#add(list, size + overhead)
  }

  /**
   * Counts more bytes of a kept list.
   *
   * @returns false if that exceeds the limit: the bytes must not be kept
   */
  grow(list: Forgettable, size: number): boolean {
    const grown = this.#sizeOf(list) + size
    if (grown > this.#limit) return false
    this.remove(list)
    return this.#add(list, grown)
  }

  /** Makes a kept list the last one to be forgotten. */
  use(list: Forgettable): void {
    const size = this.#sizeOf(list)
    this.#kept.delete(list)
    this.#kept.set(list, size)
  }

  /** Stops counting a list. */
  remove(list: Forgettable): void {
    this.#keptSize -= this.#sizeOf(list)
    this.#kept.delete(list)
  }

  #add(list: Forgettable, size: number): boolean {
    if (size > this.#limit) return false

    for (const other of this.#kept.keys()) {
      if (this.#keptSize + size <= this.#limit) break

      this.remove(other)
      other.forget()
    }

    this.#kept.set(list, size)
    this.#keptSize += size

    return true
  }

  /** Bytes; 0 if the list is not kept. */
  #sizeOf(list: Forgettable): number {
    return this.#kept.get(list) ?? 0
  }
}
