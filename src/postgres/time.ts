/**
 * SQL for a timestamptz as text in RFC 3339, in UTC and to the millisecond. pg cannot parse the output of timestamptz
 * itself under every datestyle that an operator may have set.
 */
export const isoTime = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
