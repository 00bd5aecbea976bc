import type { ServerResponse } from 'node:http'

/** The time for a client to read the bytes that it was sent. */
export interface SendTimer {
  /** Restarts the time: the client has read a chunk, or gets one. */
  restart: () => void
  /** Stops the time, while the client waits for the service. */
  pause: () => void
}

/** For a response that is too short to need a time limit. */
export const unlimitedTime: SendTimer = {
  restart: () => {},
  pause: () => {}
}

/** Disconnects a client that does not read in time. */
export class ResponseTimer implements SendTimer {
  readonly #response: ServerResponse
  readonly #milliseconds: number
  #timer: NodeJS.Timeout | undefined

  /** The time begins when `restart` is called. */
  constructor(response: ServerResponse, milliseconds: number) {
    this.#response = response
    this.#milliseconds = milliseconds
  }

  restart(): void {
    this.pause()
    if (this.#response.destroyed) return
    this.#timer = setTimeout(() => this.#response.destroy(), this.#milliseconds)
  }

  pause(): void {
    clearTimeout(this.#timer)
  }
}
