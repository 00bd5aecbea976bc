/**
 * The length of a long history: shortened by default, in full with
 * `npm run test:soak`.
 */
export const scale = (full: number, shortened: number): number =>
  process.env['SOAK'] === undefined ? shortened : full
