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
