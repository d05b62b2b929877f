import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Base64Decoder } from './base64Decoder.ts'
import { createHandOver } from './handOver.ts'
import { createTextGatherer } from './textGatherer.ts'

/** One diverted string on its way: base64 text goes in, `take` reads the decoded bytes. */
export type Diversion<Taken> = {
  /** Gathers text; true when enough lies here for a `flush`. */
  readonly push: (text: string) => boolean
  /** Decodes what was gathered and hands it over; settles when `take` has dealt with it. */
  readonly flush: () => Promise<DiversionProblem | undefined>
  readonly end: () => Promise<Result<Taken, DiversionProblem>>
  /** `take`'s next read rejects; settles when `take` has, however it ended. */
  readonly abandon: () => Promise<void>
  readonly bytes: () => number
}

export type DiversionProblem = 'invalid_base64' | 'too_large'

/** Decoded and handed over at a time: large enough for a disk, small enough for flat memory. */
const textPerWrite = 32 * 1024

/** What the reader of a diverted string gets when the rest of its document was refused. */
export class IntakeAbandonedError extends Error {
  override readonly name = 'IntakeAbandonedError'
}

/** Starts `take` at once; an error it throws comes out of `flush` or `end`. */
export function openDiversion<Taken>(
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
