export interface Outages {
  /** Records that `what` failed. Only the first failure after a success is reported. */
  begun: (what: string, cause: unknown) => void
  /** Records that `what` works. Called for each success, so it costs next to nothing while there is no outage. */
  ended: (what: string) => void
}

/** Reports when an outage of something begins and when it ends, once each, so that the log has a line for each. */
export function outages({ begun, ended }: Outages): Outages {
  const current = new Set<string>()
  return {
    begun(what, cause) {
      if (!current.has(what)) begun(what, cause)
      current.add(what)
    },
    ended(what) {
      if (current.delete(what)) ended(what)
    }
  }
}
