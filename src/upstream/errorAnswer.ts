import { AnswerLostError, firstDocument, readAnswerBody } from './answerBody.ts'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { itemsOf, objectOf, objectsOf, textOf } from '../domain/json.ts'
import { cooldownMsMax } from '../domain/limits.ts'
import { retryAfterMs } from '../domain/retryAfter.ts'
import type { VendorError } from '../domain/upstream/classifyErrorAnswer.ts'
import { classifyErrorAnswer } from '../domain/upstream/classifyErrorAnswer.ts'
import type { Answer } from './exchange.ts'
import type { AnswerVerdict } from './familyCall.ts'

/**
 * Returns what an answer with a status other than 2xx means, and the wait that it asks for. Reads the body
 * within limits, compares it with the error codes and texts that the vendors are known to send, and keeps none of
 * it. `nowMs` is in epoch milliseconds.
 */
export async function readErrorAnswer(answer: Answer, nowMs: number): Promise<AnswerVerdict> {
  const { status, headers, elapsedMs } = answer
  const error = await readVendorError(answer)
  const verdict = classifyErrorAnswer({ status, elapsedMs, ...defined({ error }) })
  const sources = { headers, nowMs, ...defined({ retryDelay: error?.retryDelay }) }
  const waitMs = retryAfterMs(sources, cooldownMsMax)
  return { ...verdict, ...defined({ retryAfterMs: waitMs }) }
}

const errorBytesMax = 64 * 1024
/**
 * Limit for reading the body of an error answer. Short, because the status alone says enough: if the body
 * arrives slowly, the verdict is made without it.
 */
const errorBodyMsMax = 2_000

async function readVendorError(answer: Answer): Promise<ParsedVendorError | undefined> {
  const chunks: Uint8Array[] = []
  const reading = (async () => {
    const body = readAnswerBody(answer, errorBytesMax)
    for await (const chunk of firstDocument(body)) chunks.push(chunk)
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
    // After the time limit, `send` destroys the body. Then `reading` rejects, and nobody waits for it any
    // more.
    reading.catch(() => {})
  }
}

type ParsedVendorError = VendorError & {
  /** The duration from `RetryInfo` of family A, such as `37s`. */
  readonly retryDelay?: string
}

/**
 * Returns the vendor's error from an error body. Returns `undefined` when the body is anything else, such as
 * the page of a proxy. Family A (Gemini API) sends `{error:{code,message,status,details[]}}`, and Vertex AI
 * may put it into an array of one. Family B (OpenAI API) sends `{error:{message,type,param,code}}`, and Azure
 * OpenAI may send only `message` and `code` of it. Both shapes are accepted in both families, because gateways in
 * front of a vendor use the shape of family B for all models.
 */
export function parseVendorError(body: Uint8Array): ParsedVendorError | undefined {
  const error = envelope(parseJson(body))
  if (error === undefined) return undefined
  const kind = textOf(error['status']) ?? textOf(error['type']) ?? textOf(error['code'])
  if (kind === undefined || textOf(error['message']) === undefined) return undefined
  const details = objectsOf(error['details'])
  const retryDelay = details.map((detail) => textOf(detail['retryDelay'])).find(Boolean)
  const words = [
    error['code'],
    error['type'],
    error['status'],
    ...details.map((detail) => detail['reason']),
  ]
  return {
    codes: words.flatMap((word) => textOf(word)?.toLowerCase() ?? []),
    quotaIds: details.flatMap(quotaIds),
    message: textOf(error['message']) ?? '',
    ...defined({ retryDelay }),
  }
}

function parseJson(body: Uint8Array): Json | undefined {
  try {
    const parsed: Json = JSON.parse(Buffer.from(body).toString('utf8'))
    return parsed
  } catch {
    return undefined
  }
}

function envelope(json: Json | undefined): JsonObject | undefined {
  const items = itemsOf(json)
  return objectOf(objectOf(items.length === 1 ? items[0] : json)?.['error'])
}

/** Returns the quota ids of a `QuotaFailure` detail, which has `violations[]` of `{quotaMetric, quotaId}`. */
function quotaIds(detail: JsonObject): readonly string[] {
  return objectsOf(detail['violations']).flatMap((violation) =>
    [violation['quotaId'], violation['quotaMetric']].flatMap((id) => textOf(id) ?? []),
  )
}
