/** Months for which a deprecated operation stays at least, as docs/versioning.md promises. */
export const notice = 6

/** The same day of the month that many months later; the last day of a month that has no such day. */
export function addMonths(date: Date, months: number): Date {
  const other = new Date(date)
  other.setUTCMonth(other.getUTCMonth() + months)
  if (other.getUTCDate() !== date.getUTCDate()) other.setUTCDate(0)
  return other
}
