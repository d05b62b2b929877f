import type { Base64Decoder } from './base64Decoder.ts'
import { createBase64Decoder } from './base64Decoder.ts'
import type { Diversion, DiversionProblem } from './diversion.ts'
import { openDiversion } from './diversion.ts'
import type { JsonIntakeFailure, JsonPath } from './jsonIntakeFailure.ts'

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
