import { setFlagsFromString } from 'node:v8'

/**
 * Stops V8 from pretenuring, for the rest of the process.
 *
 * V8 notices which places of the code make objects that live long. It then
 * allocates the objects of these places in the old space. Spans that wait for
 * their export make it decide so far more often, in some processes for places
 * that every request uses. A dead object in the old space keeps what it refers
 * to until a full garbage collection: there, the finished requests (decision
 * 31).
 */
export function stopPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
