import type { Answer } from './exchange.ts'
import type { ContentCoding } from '../streams/decodeContent.ts'
import { decodeContent, parseContentEncoding } from '../streams/decodeContent.ts'
import { BodyError } from '../streams/intakeFailure.ts'

/**
 * Thrown when no whole answer could be read: the connection broke, the call took longer than its timeout, the answer
 * is too large, or its content coding is corrupt.
 */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError'
  readonly tooLarge: boolean

  constructor(tooLarge: boolean, cause?: unknown) {
    super(tooLarge ? 'The answer is too large' : 'The answer broke off', { cause })
    this.tooLarge = tooLarge
  }
}

/**
 * Yields the body of an answer after decoding its content coding, at most `bytesMax` bytes. Our requests ask
 * for no coding. A proxy may compress nevertheless, and we pay for the answer, so it is decoded. If the
 * coding is unknown, yields the body as it is. Every failure is an `AnswerLostError`.
 */
export async function* readAnswerBody(
  { body, failure, headers }: Pick<Answer, 'body' | 'failure' | 'headers'>,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  const chunks = answerChunks(body, failure)
  try {
    const first = await chunks.next()
    if (first.done === true) return
    const codings = codingsOf(joinedHeader(headers['content-encoding']), first.value)
    yield* decodeContent(startingWith(first.value, chunks), codings, bytesMax, 'ends')
  } catch (error) {
    // When a compressed body breaks off, the decoder reports a corrupt coding. That is a lost answer too.
    throw error instanceof BodyError
      ? new AnswerLostError(error.failure.tag === 'too_large', error)
      : error
  } finally {
    body.destroy()
  }
}

/**
 * Returns the codings that the body really has, by its first bytes and its header. The header alone can be
 * wrong: a proxy that decompresses an answer may leave the header, and a proxy that compresses may not set
 * it.
 */
function codingsOf(header: string | undefined, start: Uint8Array): readonly ContentCoding[] {
  const [first, second] = start
  // This byte is `{`. Compressed JSON does not begin with it, apart from a rare case: deflate without the zlib header
  // can, when the JSON begins with a byte-order mark.
  if (first === 0x7b) return []
  const codings = parseContentEncoding(header)
  if (codings.ok && codings.value.length > 0) return codings.value
  return first === 0x1f && second === 0x8b ? ['gzip'] : []
}

/** Joins the values of a header that was sent twice. Both forms mean the same (RFC 9110 section 5.3). */
function joinedHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

async function* startingWith(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}

async function* answerChunks(
  body: AsyncIterable<unknown>,
  failure: Answer['failure'],
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    const chunk = await nextChunk(chunks)
    if (chunk === undefined) break
    yield chunk
  }
  const cause = failure()
  if (cause !== undefined) throw new AnswerLostError(false, cause)
}

async function nextChunk(chunks: AsyncIterator<unknown>): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await chunks.next()
    if (done === true) return undefined
    if (value instanceof Uint8Array) return value
  } catch (error) {
    throw new AnswerLostError(false, error)
  }
  throw new Error('Bug: an answer body yields bytes')
}

/**
 * Yields an answer up to the end of its first JSON object or array, and then closes `source`. At that point
 * the answer is complete. What comes afterwards cannot lose us the image that we pay for: garbage, a broken
 * connection, or a connection that never ends. A text that is not JSON may be cut after a bracket too, but no image
 * can be read from such a text anyway.
 */
export async function* firstDocument(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const endIn = createEndFinder()
  for await (const chunk of source) {
    const end = endIn(chunk)
    yield chunk.subarray(0, end)
    if (end !== undefined) return
  }
}

const quote = 0x22
const backslash = 0x5c

/**
 * Creates a function to call with each chunk in turn. The function returns the position in the chunk where
 * the document ends, or `undefined`.
 */
function createEndFinder(): (chunk: Uint8Array) => number | undefined {
  let depth = 0
  let quoted = false
  let escaped = false
  return (chunk) => {
    const nextQuote = createSearch(chunk, quote)
    const nextBackslash = createSearch(chunk, backslash)
    for (let at = 0; at < chunk.length; at += 1) {
      // Most of an answer is one string, which contains an image.
      if (quoted && !escaped) at = Math.min(nextQuote(at), nextBackslash(at))
      const byte = chunk[at]
      if (byte === undefined) return undefined
      if (escaped) escaped = false
      else if (quoted) {
        quoted = byte !== quote
        escaped = byte === backslash
      } else if (byte === quote) quoted = true
      else if (opens(byte)) depth += 1
      else if (closes(byte)) {
        depth -= 1
        if (depth <= 0) return at + 1
      }
    }
    return undefined
  }
}

/**
 * Creates the function that returns the first position of a byte from `at` on, or the length of the chunk. `at` never
 * goes back, so a position that was found is used until `at` has passed it, and each byte is searched once.
 */
function createSearch(chunk: Uint8Array, byte: number): (at: number) => number {
  let found = -1
  return (at) => {
    if (found < at) {
      const next = chunk.indexOf(byte, at)
      found = next === -1 ? chunk.length : next
    }
    return found
  }
}

/** Returns true for `{` and `[`. */
function opens(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b
}

/** Returns true for `}` and `]`. */
function closes(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d
}
