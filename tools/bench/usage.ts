import { readFileSync } from 'node:fs'

/** Microseconds in a clock tick of /proc. */
const clockTick = 10_000

/** What a process has used: read from /proc, which only Linux has. */
export function usageOf(pid: number | 'self' = 'self') {
  const stat =
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/stat`, 'utf8')
      : ''
  // The values behind the name of the process, from the twelfth on.
  const ticks = /\) (?:\S+ ){11}(\d+) (\d+) (\d+) (\d+)/.exec(stat)
  const [user, system, childUser, childSystem] = (ticks ?? []).slice(1)

  return {
    /** Microseconds of CPU. */
    cpu: (Number(user) + Number(system)) * clockTick,
    /** Microseconds of CPU of the children that have ended. */
    childCpu: (Number(childUser) + Number(childSystem)) * clockTick
  }
}
