import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { Base64Decoder } from '../base64.ts'
import { createBase64Decoder } from '../base64.ts'
import { createHandOver } from './handOver.ts'
import type { JsonIntakeFailure, JsonPath } from './readJsonDocument.ts'
import { createTextGatherer } from './textGatherer.ts'

export type JsonDiversionOptions<Taken> = {
  /** Decoded bytes of one diverted string, and of all of them together. */
  readonly divertedBytesMax: number
  readonly divertedTotalBytesMax: number
  readonly divertedCountMax: number
  /** Default: strict. */
  readonly createDecoder?: () => Base64Decoder
  /**
   * Reads the decoded bytes of one diverted string while the document is still arriving; the next
   * part of the document is read only when this one has been. `index` counts diverted strings in
   * document order. An error thrown here comes out of `readJsonDocument`. When the document is refused
   * midway, reading `content` throws `IntakeAbandonedError`.
   */
  readonly take: (
    content: AsyncIterable<Uint8Array>,
    at: { readonly path: JsonPath; readonly index: number },
  ) => Promise<Taken>
}

export type Diverted<Taken> = { readonly path: JsonPath; readonly value: Taken }

/** The diverted strings of one document, one after the other. */
export type JsonDiversions<Taken> = {
  readonly start: (path: JsonPath) => JsonIntakeFailure | undefined
  /** True when a `flush` is due: one await per token would cost more than the decoding. */
  readonly push: (text: string) => boolean
  readonly flush: () => Promise<JsonIntakeFailure | undefined>
  readonly end: () => Promise<JsonIntakeFailure | undefined>
  /** Ends the one under way, if any, and waits until its `take` has ended. */
  readonly abandon: () => Promise<void>
  readonly taken: () => readonly Diverted<Taken>[]
}

export function createJsonDiversions<Taken>(
  options: JsonDiversionOptions<Taken>,
): JsonDiversions<Taken> {
  const { divertedBytesMax, divertedTotalBytesMax, divertedCountMax } = options
  const createDecoder = options.createDecoder ?? createBase64Decoder
  const diverted: Diverted<Taken>[] = []
  let current: { readonly path: JsonPath; readonly diversion: Diversion<Taken> } | undefined
  let bytesLeft = divertedTotalBytesMax

  function start(path: JsonPath): JsonIntakeFailure | undefined {
    const index = diverted.length
    if (index >= divertedCountMax)
      return { tag: 'too_many_diverted', path, limit: divertedCountMax }
    const take = (content: AsyncIterable<Uint8Array>) => options.take(content, { path, index })
    const bytesMax = Math.min(divertedBytesMax, bytesLeft)
    current = { path, diversion: openDiversion(take, createDecoder(), bytesMax) }
    return undefined
  }

  function opened(): { readonly path: JsonPath; readonly diversion: Diversion<Taken> } {
    if (current === undefined) throw new Error('Bug: diverted text without its start')
    return current
  }

  function failure(problem: DiversionProblem): JsonIntakeFailure {
    const { path } = opened()
    if (problem === 'invalid_base64') return { tag: 'invalid_base64', path }
    return divertedBytesMax <= bytesLeft
      ? { tag: 'diverted_too_large', path, limitBytes: divertedBytesMax }
      : { tag: 'diverted_total_too_large', path, limitBytes: divertedTotalBytesMax }
  }

  async function flush(): Promise<JsonIntakeFailure | undefined> {
    const problem = await opened().diversion.flush()
    return problem === undefined ? undefined : failure(problem)
  }

  async function end(): Promise<JsonIntakeFailure | undefined> {
    const { path, diversion } = opened()
    const ended = await diversion.end()
    if (!ended.ok) return failure(ended.failure)
    diverted.push({ path, value: ended.value })
    bytesLeft -= diversion.bytes()
    current = undefined
    return undefined
  }

  return {
    start,
    push: (text) => opened().diversion.push(text),
    flush,
    end,
    abandon: async () => current?.diversion.abandon(),
    taken: () => diverted,
  }
}

/** One diverted string on its way: base64 text goes in, `take` reads the decoded bytes. */
type Diversion<Taken> = {
  /** Gathers text; true when enough lies here for a `flush`. */
  readonly push: (text: string) => boolean
  /** Decodes what was gathered and hands it over; settles when `take` has dealt with it. */
  readonly flush: () => Promise<DiversionProblem | undefined>
  readonly end: () => Promise<Result<Taken, DiversionProblem>>
  /** `take`'s next read rejects; settles when `take` has, however it ended. */
  readonly abandon: () => Promise<void>
  readonly bytes: () => number
}

type DiversionProblem = 'invalid_base64' | 'too_large'

/** Decoded and handed over at a time: large enough for a disk, small enough for flat memory. */
const textPerWrite = 32 * 1024

/** What the reader of a diverted string gets when the rest of its document was refused. */
export class IntakeAbandonedError extends Error {
  override readonly name = 'IntakeAbandonedError'
}

/** Starts `take` at once; an error it throws comes out of `flush` or `end`. */
function openDiversion<Taken>(
  take: (content: AsyncIterable<Uint8Array>) => Promise<Taken>,
  decoder: Base64Decoder,
  bytesMax: number,
): Diversion<Taken> {
  const handOver = createHandOver()
  const gathered = createTextGatherer()
  const taken = take(handOver.content)
  // However `take` ends, nobody reads any more; the rejection itself is seen by `flush` or `end`.
  void taken.then(handOver.leave, handOver.leave)
  let bytes = 0

  async function pass(decoded: Uint8Array | undefined): Promise<DiversionProblem | undefined> {
    if (decoded === undefined) return 'invalid_base64'
    bytes += decoded.length
    if (bytes > bytesMax) return 'too_large'
    if (decoded.length > 0 && !(await handOver.write(decoded))) await taken
    return undefined
  }

  const flush = async () => await pass(decoder.push(gathered.take()))

  function push(text: string): boolean {
    gathered.push(text)
    return gathered.length() >= textPerWrite
  }

  async function end(): Promise<Result<Taken, DiversionProblem>> {
    const problem = (await flush()) ?? (await pass(decoder.end()))
    if (problem !== undefined) return fail(problem)
    handOver.end()
    return succeed(await taken)
  }

  async function abandon(): Promise<void> {
    handOver.fail(new IntakeAbandonedError('The document around this content was refused.'))
    await taken.then(
      () => undefined,
      () => undefined,
    )
  }

  return { push, flush, end, abandon, bytes: () => bytes }
}
