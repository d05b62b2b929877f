import type { ErrorVerdict } from '../domain/outcomeTable.ts'
import { classifyErrorAnswer } from '../domain/outcomeTable.ts'
import { AnswerLostError } from './answerBody.ts'
import { firstDocument } from './firstDocument.ts'
import { retryAfterMs } from './retryAfter.ts'
import type { Answer } from './send.ts'
import type { ParsedVendorError } from './vendorError.ts'
import { parseVendorError } from './vendorError.ts'

export type ErrorReading = ErrorVerdict & { readonly retryAfterMs?: number }

const errorBytesMax = 64 * 1024
/** The status is known already: a dripping explanation is not waited for. */
const errorBodyMsMax = 2_000

/**
 * Class of an answer that is no 200 (design 1.7). Its body is read within bounds, matched, and dropped.
 */
export async function readErrorAnswer(answer: Answer, nowMs: number): Promise<ErrorReading> {
  const error = await readVendorError(answer)
  const verdict = classifyErrorAnswer({
    status: answer.status,
    elapsedMs: answer.elapsedMs,
    ...(error === undefined ? {} : { error }),
  })
  const retryDelay = error?.retryDelay
  const waitMs = retryAfterMs({
    headers: answer.headers,
    nowMs,
    ...(retryDelay === undefined ? {} : { retryDelay }),
  })
  return { ...verdict, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) }
}

async function readVendorError(answer: Answer): Promise<ParsedVendorError | undefined> {
  const chunks: Uint8Array[] = []
  const reading = (async () => {
    for await (const chunk of firstDocument(answer.body(errorBytesMax))) chunks.push(chunk)
    return parseVendorError(Buffer.concat(chunks))
  })()
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, errorBodyMsMax, undefined)
  })
  try {
    return await Promise.race([reading, tooLong])
  } catch (error) {
    if (error instanceof AnswerLostError) return undefined
    throw error
  } finally {
    clearTimeout(timer)
    // Ended by `send`, which drops the rest of the body; nobody is left to hear of that.
    reading.catch(() => {})
  }
}
