import { setImmediate as turn } from 'node:timers/promises'
import { parsed } from '../domain/json.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'

/** `either`: the standard letters or those of the URL-safe form (RFC 4648 section 5), but never both in one text. */
export type Base64Alphabet = 'standard' | 'either'

/**
 * How much is decoded before other work gets a turn. V8 frees texts of this size with other young objects, and larger
 * ones much later.
 */
const sliceBytes = 64 * 1024
const slicesPerTurn = 8

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
): Promise<Result<Buffer, 'no_base64' | 'too_large'>> {
  let bytes = 0
  let slices = 0
  let isStandard = false
  let isUrlSafe = false
  let rest = ''
  for (let at = 0, end = 0; at < sent.length; at = end) {
    slices += 1
    if (slices % slicesPerTurn === 0) await turn()
    end = sliceEnd(sent, at)
    const part = sent.toString('latin1', at, end)
    const text = part.includes('\\') ? unescaped(part) : part
    if (text === undefined) return fail('no_base64')
    // Node takes other letters by their low byte: `Ł` (U+0141) would become `A`.
    if (text !== part && Buffer.byteLength(text) !== text.length) return fail('no_base64')
    isStandard ||= text.includes('+') || text.includes('/')
    isUrlSafe ||= text.includes('-') || text.includes('_')
    const split = splitGroups(rest + text, end === sent.length)
    const { groups } = split
    const groupsBytes = (groups.length / 4) * 3
    if (bytes + groupsBytes > bytesMax) return fail('too_large')
    // Node leaves out what is not a letter, so there are fewer bytes.
    if (target.write(groups, bytes, 'base64') !== groupsBytes) return fail('no_base64')
    bytes += groupsBytes
    rest = split.rest
  }
  const isOfOne = !isUrlSafe || (alphabet === 'either' && !isStandard)
  if (!isOfOne || !isLastGroup(rest)) return fail('no_base64')
  const whole = bytes + target.write(rest, bytes, 'base64')
  return whole > bytesMax ? fail('too_large') : succeed(target.subarray(0, whole))
}

/**
 * Splits letters into whole groups of four, and the rest. When they are the last of the text, their last group belongs to
 * the rest, because only it may have padding.
 */
function splitGroups(letters: string, isLast: boolean) {
  const over = letters.length % 4
  const restLength = isLast && over === 0 ? 4 : over
  const groups = letters.slice(0, Math.max(0, letters.length - restLength))
  return { groups, rest: letters.slice(groups.length) }
}

/** Returns the end of the slice that begins at `at`. No slice ends inside of an escape, which has up to six bytes. */
function sliceEnd(sent: Buffer, at: number): number {
  const end = at + sliceBytes
  const escape = sent.subarray(end - 5, end).indexOf('\\')
  return end >= sent.length ? sent.length : escape === -1 ? end : end - 5 + escape
}

/** Resolves the escapes of a JSON string given without its quotes. Returns `undefined` if it is not valid JSON. */
function unescaped(sent: string): string | undefined {
  const text = parsed(`"${sent}"`)
  return typeof text === 'string' ? text : undefined
}

/** Returns whether the last group is canonical (padded, unused bits zero): encodes it again and compares. */
function isLastGroup(letters: string): boolean {
  const standard = letters.replaceAll('-', '+').replaceAll('_', '/')
  return Buffer.from(letters, 'base64').toString('base64') === standard
}

/**
 * Decodes the base64 of a JSON string leniently. Accepts a data-URL prefix, white space, both alphabets and missing
 * padding, and leaves out every other character: whether the bytes are an image must be seen from them. Returns
 * `undefined` for more than `bytesMax` bytes. Use it only for upstream answers, because we have paid for them. Never use
 * it for what a client sends.
 */
export async function decodeLenientBase64(
  sent: Buffer,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const [prefix = ''] = dataUrlPrefix.exec(sent.toString('latin1', 0, 256)) ?? []
  const given = sent.subarray(prefix.length)
  const target = Buffer.allocUnsafeSlow(Math.ceil(given.length / 4) * 3)
  const strict = await decodeBase64(given, 'either', bytesMax, target)
  if (strict.ok) return strict.value
  const text = given.toString('latin1')
  const bytes = Buffer.from(unescaped(text) ?? text, 'base64')
  return bytes.length > bytesMax ? undefined : bytes
}

/** The slashes may have the escapes of JSON. */
const dataUrlPrefix = /^(?:\s|\\[nrt])*data:[^,"]{0,200};base64,/i

/** Encodes a stream of bytes as base64 with padding. Yields the text as ASCII bytes. */
export async function* encodeBase64(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let carry = Buffer.alloc(0)
  for await (const chunk of content) {
    const sent = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    const whole = carry.length === 0 ? sent : Buffer.concat([carry, sent])
    const usable = whole.length - (whole.length % 3)
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
