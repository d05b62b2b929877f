import type { Base64Alphabet } from '../base64.ts'

/** Decodes base64 that arrives in pieces. */
export type Base64Decoder = {
  /** Adds text. Returns the bytes that are now complete, or `undefined` when the text is not base64. */
  readonly push: (text: string) => Uint8Array | undefined
  /**
   * Adds text that has only letters, which here means the characters of the decoder's alphabet without padding. For any
   * other text, and for any text after padding, returns `undefined` and changes nothing.
   */
  readonly pushLetters: (text: string) => Uint8Array | undefined
  /** Ends the text. Returns the remaining bytes, or `undefined` when the text cannot end here. */
  readonly end: () => Uint8Array | undefined
}

/**
 * Decodes strict base64 (RFC 4648 section 4): one alphabet, padding required, unused bits zero, no white
 * space, no data-URL prefix. `Buffer.from` alone accepts deviations from all of these rules. Two different
 * texts could then become the same image and the same fingerprint.
 */
export function createBase64Decoder(alphabet: Base64Alphabet = 'standard'): Base64Decoder {
  let carry = ''
  let padded = false
  let isStandard = false
  let isUrlSafe = false

  /** Returns the text in the standard alphabet, or `undefined` when it mixes both. */
  function inStandard(text: string): string | undefined {
    if (alphabet === 'standard') return text
    isStandard ||= text.includes('+') || text.includes('/')
    isUrlSafe ||= text.includes('-') || text.includes('_')
    if (!isUrlSafe) return text
    return isStandard ? undefined : text.replaceAll('-', '+').replaceAll('_', '/')
  }

  function push(given: string): Uint8Array | undefined {
    const text = inStandard(given)
    if (text === undefined || (padded && text !== '')) return undefined
    const whole = carry + text
    const usable = whole.length - (whole.length % 4)
    const groups = usable === whole.length ? whole : whole.slice(0, usable)
    carry = whole.slice(usable)
    padded = groups.endsWith('=')
    if (padded && carry !== '') return undefined
    const bytes = Buffer.from(groups, 'base64')
    // Encoding writes only the strict form. So if `Buffer.from` accepted a deviation, the encoded text
    // differs from the given text.
    return bytes.toString('base64') === groups ? bytes : undefined
  }

  function pushLetters(text: string): Uint8Array | undefined {
    const whole = carry + text
    if (isUrlSafe || padded || whole.includes('-') || whole.includes('_')) return undefined
    isStandard ||= text.includes('+') || text.includes('/')
    const decoded = decodeLetters(whole)
    if (decoded === undefined) return undefined
    carry = decoded.rest
    return decoded.bytes
  }

  return { push, pushLetters, end: () => (carry === '' ? Buffer.alloc(0) : undefined) }
}

/**
 * Decodes the whole groups of four letters of both base64 alphabets. Returns the rest of the letters too, or
 * `undefined` when another character is among them.
 */
function decodeLetters(
  text: string,
): { readonly bytes: Buffer; readonly rest: string } | undefined {
  const usable = text.length - (text.length % 4)
  const rest = text.slice(usable)
  // Node reads only the low byte of a character outside of Latin-1.
  if (foreign.test(rest) || Buffer.byteLength(text) !== text.length) return undefined
  const bytes = Buffer.from(text.slice(0, usable), 'base64')
  // Node leaves out every character that is not a letter. So with such a character there are fewer bytes.
  return bytes.length === (usable / 4) * 3 ? { bytes, rest } : undefined
}

/**
 * Decodes base64 leniently. Accepts line breaks, the URL alphabet, missing padding, and a data-URL prefix if
 * it is complete in the first piece. Use it only for upstream answers, because we have paid for them. Never
 * use it for what a client sends.
 */
export function createLenientBase64Decoder(): Base64Decoder {
  let carry = ''
  let begun = false
  let padded = false

  function push(text: string): Uint8Array | undefined {
    const given = begun ? text : text.replace(dataUrlPrefix, '')
    begun ||= text !== ''
    const letters = given.replaceAll(/\s+/g, '')
    const bare = withoutPadding(letters)
    if ((padded && bare !== '') || foreign.test(bare)) return undefined
    padded ||= bare !== letters
    const whole = carry + bare
    const usable = whole.length - (whole.length % 4)
    carry = whole.slice(usable)
    return Buffer.from(whole.slice(0, usable), 'base64')
  }

  function pushLetters(text: string): Uint8Array | undefined {
    const decoded = padded ? undefined : decodeLetters(carry + text)
    if (decoded === undefined) return undefined
    begun ||= text !== ''
    carry = decoded.rest
    return decoded.bytes
  }

  // A single remaining letter has only 6 bits, which is less than a byte.
  return {
    push,
    pushLetters,
    end: () => (carry.length === 1 ? undefined : Buffer.from(carry, 'base64')),
  }
}

const foreign = /[^0-9A-Za-z+/_-]/
const dataUrlPrefix = /^\s*data:[\w/.+;=-]*;base64,/i

/**
 * Removes the padding. Uses a loop, because the time of `/=+$/` grows with the square of the length of a run of
 * `=` that is not at the end.
 */
function withoutPadding(letters: string): string {
  let end = letters.length
  while (letters[end - 1] === '=') end -= 1
  return letters.slice(0, end)
}
