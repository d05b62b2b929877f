/** Incremental base64. */
export type Base64Decoder = {
  /** The bytes that are complete so far; `undefined` once the text cannot be base64 any more. */
  readonly push: (text: string) => Uint8Array | undefined
  /** The bytes kept back, if any; `undefined` when the text ended in the middle of a group. */
  readonly end: () => Uint8Array | undefined
}

/**
 * Strict base64 (RFC 4648 section 4): standard alphabet, padding required and canonical, zero tail bits,
 * no whitespace, no data-URL prefix. `Buffer.from` alone forgives all of these
 * (research/reliability.md section 4), so two different texts would give one image and one fingerprint.
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
    // The encoder writes only the canonical form: whatever the decoder forgave comes out different.
    return bytes.toString('base64') === groups ? bytes : undefined
  }

  return { push, end: () => (carry === '' ? Buffer.alloc(0) : undefined) }
}

const dataUrlPrefix = /^\s*data:[\w/.+;=-]*;base64,/i
const foreign = /[^0-9A-Za-z+/_-]/

/**
 * Base64 as others write it: line breaks, the URL alphabet, missing padding and a data-URL prefix (whole
 * in the first piece) are forgiven; anything that is not base64 is not. For answers that are paid for,
 * never for what a client sends.
 */
export function createForgivingBase64Decoder(): Base64Decoder {
  let carry = ''
  let begun = false
  let padded = false

  function push(text: string): Uint8Array | undefined {
    const letters = (begun ? text : text.replace(dataUrlPrefix, '')).replaceAll(/\s+/g, '')
    begun ||= text !== ''
    const bare = letters.replace(/=+$/, '')
    if ((padded && bare !== '') || foreign.test(bare)) return undefined
    padded ||= bare !== letters
    const whole = carry + bare
    const usable = whole.length - (whole.length % 4)
    carry = whole.slice(usable)
    return Buffer.from(whole.slice(0, usable), 'base64')
  }

  // One letter alone is not a byte.
  return { push, end: () => (carry.length === 1 ? undefined : Buffer.from(carry, 'base64')) }
}

/** Standard padded base64 of a byte stream, a few tens of KiB at a time, as ASCII bytes ready to send. */
export async function* encodeBase64(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let carry = Buffer.alloc(0)
  for await (const chunk of content) {
    const whole = carry.length === 0 ? asBuffer(chunk) : Buffer.concat([carry, chunk])
    const usable = whole.length - (whole.length % 3)
    // A copy: the chunk's memory may be used again by whoever yielded it.
    carry = Buffer.from(whole.subarray(usable))
    if (usable > 0) yield Buffer.from(whole.toString('base64', 0, usable), 'latin1')
  }
  if (carry.length > 0) yield Buffer.from(carry.toString('base64'), 'latin1')
}

/** Characters of the base64 text of so many bytes: the exact Content-Length needs it beforehand. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
