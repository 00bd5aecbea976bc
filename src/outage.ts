export interface Outage {
  /** Tells that something failed; the first time after it worked is what the outage begins with. */
  begun: (cause: unknown) => void
  /** Tells that it worked: called for every answer, so it costs nothing when there is no outage. */
  ended: () => void
}

/** Passes on the begin and the end of an outage, however often either is told, so that the log has a line for each. */
export function outage({ begun, ended }: Outage): Outage {
  let isOn = false
  return {
    begun(cause) {
      if (!isOn) begun(cause)
      isOn = true
    },
    ended() {
      if (isOn) ended()
      isOn = false
    }
  }
}
