import { setFlagsFromString } from 'node:v8'

/**
 * Stops V8 from pretenuring, for the rest of the process.
 *
 * V8 counts which allocation sites make objects that live long. It then
 * allocates every object of such a site in the old space. Spans live long,
 * because they wait for their export. With traces, V8 therefore chooses many
 * more sites, in some processes those that every request uses. Their dead
 * objects keep finished requests in memory until a full garbage collection
 * (decision 31).
 */
export function stopPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
