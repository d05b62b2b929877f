/** The wait that a client may ask for, in seconds. */
const waitSecondsMin = 1
const waitSecondsMax = 60

/**
 * One preference of a Prefer header and what follows it: a name, perhaps a value (a token or a quoted text),
 * and parameters, up to the next comma.
 */
const preference =
  /^[\t ]*([!#$%&'*+.^_`|~\w-]+)(?:[\t ]*=[\t ]*([!#$%&'*+.^_`|~\w-]+|"(?:[^"\\]|\\.)*")?)?((?:[\t ]*;(?:[^",;]|"(?:[^"\\]|\\.)*")*)*)[\t ]*(?:,|$)/

/**
 * Returns how many seconds a lookup may wait for the end of its task, from the preference `wait` of the Prefer
 * header (RFC 7240 section 4.3). Returns `undefined` for every other header, for a wait outside 1 to 60, and
 * for a header that is not well formed. When `wait` is given more than once, only the first one counts (section
 * 2).
 */
export function readPreferWait(header: string): number | undefined {
  let rest = header
  while (rest !== '') {
    const found = preference.exec(rest)
    if (found === null) {
      // RFC 9110 section 5.6.1: a list may contain empty elements.
      const empty = /^[\t ]*(?:,|$)/.exec(rest)
      if (empty === null || empty[0] === '') return undefined
      rest = rest.slice(empty[0].length)
      continue
    }
    const [whole, name = '', value = ''] = found
    if (name.toLowerCase() === 'wait') return secondsOf(value)
    rest = rest.slice(whole.length)
  }
  return undefined
}

function secondsOf(value: string): number | undefined {
  const text = value.startsWith('"') ? value.slice(1, -1) : value
  if (!/^\d{1,4}$/.test(text)) return undefined
  const seconds = Number(text)
  return seconds >= waitSecondsMin && seconds <= waitSecondsMax ? seconds : undefined
}
