import { BodyError } from '../streams/bodyError.ts'
import type { ContentCoding } from '../streams/decodeContent.ts'
import { decodeContent, parseContentEncoding } from '../streams/decodeContent.ts'
import type { Exchange } from './exchange.ts'

/** The answer ended otherwise than whole: the connection broke, the deadline came, or it was too large. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError'
  readonly tooLarge: boolean

  constructor(tooLarge: boolean, cause?: unknown) {
    super(tooLarge ? 'The answer is too large' : 'The answer broke off', { cause })
    this.tooLarge = tooLarge
  }
}

/**
 * At most `bytesMax` bytes of an answer's body, without its content coding: none was asked for, but
 * fronts compress all the same, and what they carry is paid for. Under a coding of unknown name the body
 * is read as it is. Every failure is an `AnswerLostError`.
 */
export async function* readAnswer(
  { body, failure }: Pick<Exchange, 'body' | 'failure'>,
  contentEncoding: string | undefined,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  const chunks = answerChunks(body, failure)
  try {
    const first = await chunks.next()
    if (first.done === true) return
    const codings = codingsOf(contentEncoding, first.value)
    yield* decodeContent(startingWith(first.value, chunks), codings, bytesMax, 'ends')
  } catch (error) {
    throw error instanceof BodyError ? lost(error) : error
  } finally {
    body.destroy()
  }
}

/** Fronts that unpack an answer leave its coding named, and some that pack one name none. */
function codingsOf(header: string | undefined, start: Uint8Array): readonly ContentCoding[] {
  const [first, second] = start
  // `{`: nothing that is compressed begins so and unpacks to JSON.
  if (first === 0x7b) return []
  const codings = parseContentEncoding(header)
  if (codings.ok && codings.value.length > 0) return codings.value
  return first === 0x1f && second === 0x8b ? ['gzip'] : []
}

async function* startingWith(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}

/** What breaks off under a coding comes out of the decoder as a broken coding. */
function lost(error: BodyError): AnswerLostError {
  return new AnswerLostError(error.failure.tag === 'too_large', error)
}

async function* answerChunks(
  body: AsyncIterable<unknown>,
  failure: Exchange['failure'],
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
 * An answer up to the end of the first JSON object or array in it; then `source` is let go of. What is
 * said is said by then: neither garbage behind it, nor a connection that breaks or never ends, takes a
 * paid image away. Any other text goes through as it is.
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

/** Told chunk after chunk: where in it the document ends, once it does. */
function createEndFinder(): (chunk: Uint8Array) => number | undefined {
  let depth = 0
  let quoted = false
  let escaped = false
  return (chunk) => {
    // Nearly all chunks lie inside an image.
    if (quoted && !escaped && !chunk.includes(quote) && !chunk.includes(backslash)) return undefined
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
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

/** `{` or `[` */
function opens(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b
}

/** `}` or `]` */
function closes(byte: number): boolean {
  return byte === 0x7d || byte === 0x5d
}
