/** The wait that a client may ask for, in seconds. */
const waitSecondsMin = 1
const waitSecondsMax = 60

/** A header that is longer than this is ignored, so that a hostile header costs little time. */
const headerLengthMax = 1_024

/** Matches one element of a list: everything up to the next comma that is not part of a quoted text. */
const element = /(?:[^",]|"(?:[^"\\]|\\.)*")*/y

/** Matches one preference: a name, then perhaps a value (a token or a quoted text), then perhaps parameters. */
const preference =
  /^[\t ]*([!#$%&'*+.^_`|~\w-]+)[\t ]*(?:=[\t ]*([!#$%&'*+.^_`|~\w-]+|"(?:[^"\\]|\\.)*")?[\t ]*)?(?:;|$)/

/**
 * Returns how many seconds a lookup may wait for the end of its task, from the preference `wait` of the Prefer
 * header (RFC 7240 section 4.3). Returns `undefined` for every other header, for a wait outside 1 to 60, and
 * for a header that is too long or not well formed. When `wait` is given more than once, only the first one
 * counts (section 2).
 */
export function readPreferWait(header: string): number | undefined {
  if (header.length > headerLengthMax) return undefined
  for (let at = 0; at < header.length; at += 1) {
    element.lastIndex = at
    const [text = ''] = element.exec(header) ?? []
    at += text.length
    if (at < header.length && header[at] !== ',') return undefined
    // RFC 9110 section 5.6.1: a list may contain empty elements.
    if (/^[\t ]*$/.test(text)) continue
    const found = preference.exec(text)
    if (found === null) return undefined
    const [, name = '', value = ''] = found
    if (name.toLowerCase() === 'wait') return secondsOf(value)
  }
  return undefined
}

function secondsOf(value: string): number | undefined {
  const text = value.startsWith('"') ? value.slice(1, -1) : value
  if (!/^\d{1,4}$/.test(text)) return undefined
  const seconds = Number(text)
  return seconds >= waitSecondsMin && seconds <= waitSecondsMax ? seconds : undefined
}
