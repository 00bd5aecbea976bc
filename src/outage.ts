export interface Outages {
  /** Records that `what` failed. Only the first failure of an outage is reported. */
  begun: (what: string, cause: unknown) => void
  /** Records that `what` works. Called for each success, so it costs next to nothing while there is no outage. */
  ended: (what: string) => void
}

export interface OutagesOptions extends Outages {
  /** Milliseconds without a failure before a success ends an outage, which may affect a part of the requests only. */
  quiet: number
}

/** Reports when an outage of something begins and when it ends, once each, so that the log has a line for each. */
export function outages({ begun, ended, quiet }: OutagesOptions): Outages {
  const failedAt = new Map<string, number>()
  return {
    begun(what, cause) {
      if (!failedAt.has(what)) begun(what, cause)
      failedAt.set(what, performance.now())
    },
    ended(what) {
      const at = failedAt.get(what)
      if (at === undefined || performance.now() - at < quiet) return
      failedAt.delete(what)
      ended(what)
    }
  }
}
