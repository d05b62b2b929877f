import type { Base64Decoder } from './base64Decoder.ts'

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
