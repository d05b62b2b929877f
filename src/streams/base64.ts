/** Decodes base64 that arrives in pieces. */
export type Base64Decoder = {
  /** Returns the bytes that are complete so far, or `undefined` when the text is not base64. */
  readonly push: (text: string) => Uint8Array | undefined
  /** Returns the remaining bytes, or `undefined` when the text ended in the middle of a group. */
  readonly end: () => Uint8Array | undefined
}

/**
 * Decodes strict base64 (RFC 4648 section 4): standard alphabet, padding required, tail bits zero, no
 * white space, no data-URL prefix. `Buffer.from` alone accepts all of these deviations, so two different
 * texts would become one image and one fingerprint.
 */
export function createBase64Decoder(): Base64Decoder {
  let carry = ''
  let padded = false

  function push(text: string): Uint8Array | undefined {
    if (padded && text !== '') return undefined
    const whole = carry + text
    const usable = whole.length - (whole.length % 4)
    const groups = usable === whole.length ? whole : whole.slice(0, usable)
    carry = whole.slice(usable)
    padded = groups.endsWith('=')
    if (padded && carry !== '') return undefined
    const bytes = Buffer.from(groups, 'base64')
    // Encoding writes only the strict form, so any deviation that `Buffer.from` accepted differs here.
    return bytes.toString('base64') === groups ? bytes : undefined
  }

  return { push, end: () => (carry === '' ? Buffer.alloc(0) : undefined) }
}

const dataUrlPrefix = /^\s*data:[\w/.+;=-]*;base64,/i
const foreign = /[^0-9A-Za-z+/_-]/

/**
 * Decodes base64 leniently: accepts line breaks, the URL alphabet, missing padding, and a data-URL prefix
 * that is whole in the first piece. Used for upstream answers, which are paid for. Never used for what a
 * client sends.
 */
export function createLenientBase64Decoder(): Base64Decoder {
  let carry = ''
  let begun = false
  let padded = false

  function push(text: string): Uint8Array | undefined {
    const letters = (begun ? text : text.replace(dataUrlPrefix, '')).replaceAll(/\s+/g, '')
    begun ||= text !== ''
    const bare = withoutPadding(letters)
    if ((padded && bare !== '') || foreign.test(bare)) return undefined
    padded ||= bare !== letters
    const whole = carry + bare
    const usable = whole.length - (whole.length % 4)
    carry = whole.slice(usable)
    return Buffer.from(whole.slice(0, usable), 'base64')
  }

  // A single letter holds 6 bits, less than a byte.
  return { push, end: () => (carry.length === 1 ? undefined : Buffer.from(carry, 'base64')) }
}

/** A loop, because the time of `/=+$/` grows with the square of a run of `=` that is not at the end. */
function withoutPadding(letters: string): string {
  let end = letters.length
  while (letters[end - 1] === '=') end -= 1
  return letters.slice(0, end)
}

/** Encodes a byte stream as padded base64. Yields ASCII bytes, one chunk per chunk of `content`. */
export async function* encodeBase64(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let carry = Buffer.alloc(0)
  for await (const chunk of content) {
    const whole = carry.length === 0 ? asBuffer(chunk) : Buffer.concat([carry, chunk])
    const usable = whole.length - (whole.length % 3)
    // A copy, because the source may use the memory of its chunk again.
    carry = Buffer.from(whole.subarray(usable))
    if (usable > 0) yield Buffer.from(whole.toString('base64', 0, usable), 'latin1')
  }
  if (carry.length > 0) yield Buffer.from(carry.toString('base64'), 'latin1')
}

/** The length of the base64 text of `bytes` bytes. Content-Length needs it before a byte is read. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
