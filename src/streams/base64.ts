import { setImmediate as turn } from 'node:timers/promises'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { unescaped } from './cutJson.ts'

/** The letters of base64: the standard ones, or these as well as those of the URL-safe form (RFC 4648 section 5). */
export type Base64Alphabet = 'standard' | 'either'

/** `no_string`: the bytes cannot stand between the quotes of a JSON string. */
export type Base64Failure = 'no_base64' | 'no_string' | 'too_large'

/** How much is made a text at once. V8 frees texts of this size with other young objects, and larger ones much later. */
const sliceBytes = 64 * 1024
/** How much is decoded before other work gets a turn. */
const turnBytes = 512 * 1024

/**
 * Decodes the strict base64 (RFC 4648 section 4) of a JSON string, given as the bytes between its quotes: one alphabet,
 * padding required, unused bits zero, no white space, no data-URL prefix. `Buffer.from` alone accepts deviations from
 * all of these rules. Two different texts could then become the same image and the same fingerprint. Escapes of JSON
 * are allowed, because PHP writes `\/` and .NET writes `\u002B`. Lets other work run in between.
 *
 * Writes the bytes into `target`. They are fewer than their letters, so they may be written over `sent` itself: another
 * buffer of that size would cost more time than the decoding, and the memory of a second image.
 */
export async function decodeBase64(
  sent: Buffer,
  alphabet: Base64Alphabet,
  bytesMax: number,
  target: Buffer,
): Promise<Result<Buffer, Base64Failure>> {
  const isPlain = !sent.includes('\\')
  const text = isPlain ? succeed(sent) : await withoutEscapes(sent)
  if (!text.ok) return text
  const letters = text.value
  if (decodedLength(letters) > bytesMax) return fail('too_large')
  const why = (part: string) =>
    isPlain && unescaped(part) === undefined ? 'no_string' : 'no_base64'
  const isOfOne = isOfOneAlphabet(letters, alphabet)
  const lastAt = Math.max(0, letters.length - (letters.length % 4 || 4))
  let bytes = 0
  for (let at = 0; at < lastAt; at += sliceBytes) {
    if (at > 0 && at % turnBytes === 0) await turn()
    const groups = letters.toString('latin1', at, Math.min(at + sliceBytes, lastAt))
    const written = target.write(groups, bytes, 'base64')
    // Node leaves out what is not a letter, so there are fewer bytes.
    if (written !== (groups.length / 4) * 3) return fail(why(groups))
    bytes += written
  }
  const last = letters.toString('latin1', lastAt)
  if (!isLastGroup(last)) return fail(why(last))
  if (!isOfOne) return fail('no_base64')
  bytes += target.write(last, bytes, 'base64')
  return succeed(target.subarray(0, bytes))
}

/** Returns the text of a JSON string without its escapes, one byte for each character. */
async function withoutEscapes(sent: Buffer): Promise<Result<Buffer, Base64Failure>> {
  const letters = Buffer.allocUnsafeSlow(sent.length)
  let length = 0
  for (let at = 0, end = 0; at < sent.length; at = end) {
    if (at > 0) await turn()
    end = sliceEnd(sent, at)
    const text = unescaped(sent.toString('latin1', at, end))
    if (text === undefined) return fail('no_string')
    // One byte is not enough for other characters: `Ł` (U+0141) would become `A`.
    if (Buffer.byteLength(text) !== text.length) return fail('no_base64')
    length += letters.write(text, length, 'latin1')
  }
  return succeed(letters.subarray(0, length))
}

/** Returns the end of the slice that begins at `at`. No slice ends inside of an escape, which has up to six bytes. */
function sliceEnd(sent: Buffer, at: number): number {
  const end = at + sliceBytes
  if (end >= sent.length) return sent.length
  const escape = sent.indexOf('\\', end - 5)
  return escape === -1 ? end : Math.min(escape, end)
}

/** Returns how many bytes a text has after decoding, if it is base64. */
function decodedLength(letters: Buffer): number {
  const padding = letters.at(-1) !== equalsSign ? 0 : letters.at(-2) !== equalsSign ? 1 : 2
  return Math.ceil(letters.length / 4) * 3 - padding
}

const equalsSign = 0x3d

function isOfOneAlphabet(letters: Buffer, alphabet: Base64Alphabet): boolean {
  const isUrlSafe = letters.includes('-') || letters.includes('_')
  return !isUrlSafe || (alphabet === 'either' && !letters.includes('+') && !letters.includes('/'))
}

/** Returns whether a text may end with these letters. Encoding writes only the strict form. */
function isLastGroup(letters: string): boolean {
  const standard = letters.replaceAll('-', '+').replaceAll('_', '/')
  return Buffer.from(letters, 'base64').toString('base64') === standard
}

/**
 * Decodes the base64 of a JSON string leniently. Accepts white space, both alphabets, missing padding, and a data-URL
 * prefix. Returns `undefined` for every other text, and for more than `bytesMax` bytes. Use it only for upstream
 * answers, because we have paid for them. Never use it for what a client sends.
 */
export async function decodeLenientBase64(
  sent: Buffer,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const target = Buffer.allocUnsafeSlow(Math.ceil(sent.length / 4) * 3)
  const strict = await decodeBase64(sent, 'either', bytesMax, target)
  if (strict.ok) return strict.value
  const text = unescaped(sent.toString('latin1'))
  const bare = withoutPadding((text ?? '').replace(dataUrlPrefix, '').replaceAll(/\s+/g, ''))
  // A single remaining letter has only 6 bits, which is less than a byte.
  if (text === undefined || foreign.test(bare) || bare.length % 4 === 1) return undefined
  const bytes = Buffer.from(bare, 'base64')
  return bytes.length > bytesMax ? undefined : bytes
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

/** Encodes a stream of bytes as base64 with padding. Yields the text as ASCII bytes. */
export async function* encodeBase64(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let carry = Buffer.alloc(0)
  for await (const chunk of content) {
    const whole = carry.length === 0 ? asBuffer(chunk) : Buffer.concat([carry, chunk])
    const usable = whole.length - (whole.length % 3)
    // Must be a copy, because the source may write new bytes into the memory of this chunk.
    carry = Buffer.from(whole.subarray(usable))
    if (usable > 0) yield Buffer.from(whole.toString('base64', 0, usable), 'latin1')
  }
  if (carry.length > 0) yield Buffer.from(carry.toString('base64'), 'latin1')
}

/**
 * Returns the length of the base64 text of `bytes` bytes. Content-Length needs this number before any byte is
 * read.
 */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
