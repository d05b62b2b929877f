/** The wait that a client may ask for, in seconds. */
const waitSecondsMin = 1
const waitSecondsMax = 60

/** The first preference `wait` of a header, whose value is in quotes or not. */
const wait = /(?:^|,)[\t ]*wait[\t ]*=[\t ]*("?)(\d{1,4})\1[\t ]*(?:[,;]|$)/i

/**
 * Returns how many seconds a lookup may wait for the end of its task, from the preference `wait` of the Prefer
 * header (RFC 7240 section 4.3). Returns `undefined` for every other header, and for a wait outside 1 to 60.
 */
export function readPreferWait(header: string): number | undefined {
  const seconds = Number(wait.exec(header)?.[2])
  return seconds >= waitSecondsMin && seconds <= waitSecondsMax ? seconds : undefined
}
