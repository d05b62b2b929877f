import { Readable } from 'node:stream'
import type { Base64Decoder } from './base64Decoders.ts'
import { createBase64Decoder } from './base64Decoders.ts'
import { createTextGatherer } from './textGatherer.ts'
import type { JsonIntakeFailure, JsonPath } from '../intakeFailure.ts'
import { IntakeAbandonedError } from '../intakeFailure.ts'

export type DivertedStringOptions<Taken> = {
  /** Limit for the decoded bytes of one diverted string. */
  readonly divertedBytesMax: number
  /** Limit for the decoded bytes of all diverted strings together. */
  readonly divertedTotalBytesMax: number
  readonly divertedCountMax: number
  /** Creates the decoder of one string. Default: strict base64. */
  readonly createDecoder?: () => Base64Decoder
  /**
   * Reads the decoded bytes of one diverted string while the document is still arriving. `index` counts the
   * diverted strings in document order. When `take` throws, `readJsonDocument` throws the same error. When
   * the document turns out to be invalid or cannot be read, reading `content` throws `IntakeAbandonedError`.
   */
  readonly take: (
    content: AsyncIterable<Uint8Array>,
    at: { readonly path: JsonPath; readonly index: number },
  ) => Promise<Taken>
}

/** One diverted string. `value` is what `take` returned for it. */
export type Diverted<Taken> = { readonly path: JsonPath; readonly value: Taken }

export type DivertedStrings<Taken> = {
  readonly start: (path: JsonPath) => JsonIntakeFailure | undefined
  /** Adds base64 text. Returns true when the caller must await `flush`. */
  readonly push: (text: string) => boolean
  /**
   * Does the same with text that no parser has read. `flush` refuses control characters in it, so up to 48 KiB later
   * than a parser would. Another failure may come first.
   */
  readonly pushRaw: (text: string) => boolean
  /** Decodes the text pushed so far. Resolves when `take` has processed the bytes. */
  readonly flush: () => Promise<JsonIntakeFailure | undefined>
  readonly end: () => Promise<JsonIntakeFailure | undefined>
  /**
   * Makes the next read of an unfinished string throw, and then waits until `take` has ended for that string.
   */
  readonly abandon: () => Promise<void>
  readonly taken: () => readonly Diverted<Taken>[]
}

/**
 * How much text is gathered before it is decoded. The parser delivers many small tokens, and waiting for
 * `take` after each token would cost more time than the decoding itself.
 */
const textPerFlush = 32 * 1024

/**
 * Matches the control characters that JSON allows only as escapes (RFC 8259, section 7): U+0000 to U+001F, which is
 * everything except the space and what comes after it.
 */
const control = /[^ -\u{10FFFF}]/u

/**
 * Decodes the diverted strings of one document from base64, one after the other. Streams the bytes of each
 * string to `take`. This is step 3 of `readJsonDocument`.
 */
export function createDivertedStrings<Taken>(
  options: DivertedStringOptions<Taken>,
): DivertedStrings<Taken> {
  const { divertedBytesMax, divertedTotalBytesMax, divertedCountMax } = options
  const createDecoder = options.createDecoder ?? createBase64Decoder
  const text = createTextGatherer()
  const finished: Diverted<Taken>[] = []
  let current: DivertedString<Taken> | undefined
  let textLength = 0
  let rawPieces: string[] = []
  let bytesLeft = divertedTotalBytesMax

  function start(path: JsonPath): JsonIntakeFailure | undefined {
    const index = finished.length
    if (index >= divertedCountMax) {
      return { tag: 'too_many_diverted', path, limit: divertedCountMax }
    }
    const { content, write } = createHandOver()
    const taken = options.take(content, { path, index })
    // When `take` has ended, nothing reads `content` any more. `flush` and `end` report an error of `take`.
    const leave = () => void content.destroy()
    taken.then(leave, leave)
    current = { path, decoder: createDecoder(), content, write, taken, bytes: 0 }
    return undefined
  }

  function started(): DivertedString<Taken> {
    if (current === undefined) throw new Error('Bug: diverted text without its start')
    return current
  }

  function push(piece: string): boolean {
    text.push(piece)
    textLength += piece.length
    return textLength >= textPerFlush
  }

  function pushRaw(piece: string): boolean {
    rawPieces.push(piece)
    return push(piece)
  }

  async function flush(): Promise<JsonIntakeFailure | undefined> {
    const { decoder } = started()
    const [whole, raw] = [text.take(), rawPieces]
    textLength = 0
    rawPieces = []
    const letters = decoder.pushLetters(whole)
    // JSON allows no control characters in a string. In text that has only letters, there are none.
    if (letters === undefined && raw.some((piece) => control.test(piece))) return { tag: 'syntax' }
    return await pass(letters ?? decoder.push(whole))
  }

  async function pass(decoded: Uint8Array | undefined): Promise<JsonIntakeFailure | undefined> {
    const string = started()
    const { path } = string
    if (decoded === undefined) return { tag: 'invalid_base64', path }
    string.bytes += decoded.length
    if (string.bytes > Math.min(divertedBytesMax, bytesLeft)) {
      return divertedBytesMax <= bytesLeft
        ? { tag: 'diverted_too_large', path, limitBytes: divertedBytesMax }
        : { tag: 'diverted_total_too_large', path, limitBytes: divertedTotalBytesMax }
    }
    // When `write` returns false, `take` has ended. If it ended with an error, this line throws that error.
    // If it ended early without an error, it needs no more bytes.
    if (decoded.length > 0 && !(await string.write(decoded))) await string.taken
    return undefined
  }

  async function end(): Promise<JsonIntakeFailure | undefined> {
    const { path, decoder, content, taken } = started()
    const failure = (await flush()) ?? (await pass(decoder.end()))
    if (failure !== undefined) return failure
    content.push(null)
    finished.push({ path, value: await taken })
    bytesLeft -= started().bytes
    current = undefined
    return undefined
  }

  async function abandon(): Promise<void> {
    if (current === undefined) return
    const reason = 'The document around this content was refused.'
    current.content.destroy(new IntakeAbandonedError(reason))
    await current.taken.catch(() => {})
  }

  return { start, push, pushRaw, flush, end, abandon, taken: () => finished }
}

type DivertedString<Taken> = HandOver & {
  readonly path: JsonPath
  readonly decoder: Base64Decoder
  readonly taken: Promise<Taken>
  /** The bytes decoded so far. */
  bytes: number
}

type HandOver = {
  readonly content: Readable
  /**
   * Writes a chunk. Resolves to true when the reader asks for the next chunk, and to false when the reader
   * wants no more.
   */
  readonly write: (chunk: Uint8Array) => Promise<boolean>
}

/** Passes one chunk at a time, so that the writer (a socket) waits for a slow reader (a disk). */
function createHandOver(): HandOver {
  let asked = Promise.withResolvers<void>()
  const content = new Readable({
    // With a mark of 0, Node calls `read` only when the reader asks for bytes and no chunk is left.
    highWaterMark: 0,
    read: () => asked.resolve(),
    destroy: (error, done) => {
      asked.resolve()
      done(error)
    },
  })
  // The reader gets the error in any case. Without this listener, it would also be an uncaught exception.
  content.on('error', () => {})

  async function write(chunk: Uint8Array): Promise<boolean> {
    if (content.destroyed) return false
    asked = Promise.withResolvers()
    content.push(chunk)
    await asked.promise
    return !content.destroyed
  }

  return { content, write }
}
