import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { itemsOf, objectOf, objectsOf, textOf } from '../domain/json.ts'
import { cooldownMsMax } from '../domain/limits.ts'
import { retryAfterMs } from '../domain/retryAfter.ts'
import type { VendorError } from '../domain/upstream/classifyErrorAnswer.ts'
import { classifyErrorAnswer } from '../domain/upstream/classifyErrorAnswer.ts'
import type { Answer } from './exchange.ts'
import { errorBytesMax } from './exchange.ts'
import type { AnswerVerdict } from './modelAnswer.ts'
import { unpacked } from './modelAnswer.ts'
import { readLenientJson } from '../streams/json.ts'

/**
 * Returns what an answer with a status other than 2xx means, and the wait that it asks for. Compares its body with the
 * error codes and texts that the vendors are known to send, and keeps none of it. `nowMs` is in epoch milliseconds.
 */
export async function readErrorAnswer(answer: Answer, nowMs: number): Promise<AnswerVerdict> {
  const { status, headers, elapsedMs } = answer
  const error = await readVendorError(answer)
  const verdict = classifyErrorAnswer({ status, elapsedMs, ...defined({ error }) })
  const sources = { headers, nowMs, ...defined({ retryDelay: error?.retryDelay }) }
  const waitMs = retryAfterMs(sources, cooldownMsMax)
  return { ...verdict, ...defined({ retryAfterMs: waitMs }) }
}

async function readVendorError({ body, headers }: Answer): Promise<ParsedVendorError | undefined> {
  const plain = await unpacked(await body.take(), headers, errorBytesMax)
  return plain.ok ? parseVendorError(plain.value) : undefined
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
export function parseVendorError(body: Buffer): ParsedVendorError | undefined {
  const read = readLenientJson(body)
  const error = envelope(read.ok ? read.value.document : undefined)
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
    ...defined({ retryDelay, param: textOf(error['param']) }),
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
