import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { itemsOf, objectOf, objectsOf, textOf } from '../domain/json.ts'
import { cooldownMsMax } from '../domain/limits.ts'
import { retryAfterMs } from '../domain/upstream/retryAfter.ts'
import type { ErrorAnswer, VendorError } from '../domain/upstream/classifyErrorAnswer.ts'
import { classifyErrorAnswer } from '../domain/upstream/classifyErrorAnswer.ts'
import { meaningOf, showableCode } from '../domain/upstream/vendorWords.ts'
import type { Answer } from './exchange.ts'
import { errorBytesMax } from './exchange.ts'
import type { AnswerVerdict } from './modelAnswer.ts'
import { unpacked } from './modelAnswer.ts'
import { readLenientJson } from '../bytes/readJson.ts'

type About = Pick<ErrorAnswer, 'errorsAreFree'> & {
  /** Epoch milliseconds. */
  readonly nowMs: number
  /** Reads the error of the family's vendors, as in `familyAdapters.ts`. */
  readonly errorIn: (document: Json | undefined) => ParsedVendorError | undefined
}

/**
 * Returns what an answer with a status other than 2xx means, and the wait that it asks for. Compares its body with the
 * error codes and texts that the vendors are known to send. Of the body it returns only a code that may be shown
 * (`showableCode`).
 */
export async function readErrorAnswer(answer: Answer, about: About): Promise<AnswerVerdict> {
  const plain = await unpacked(await answer.body.take(), answer.headers, errorBytesMax)
  const read = plain.ok ? readLenientJson(plain.value) : plain
  return judgeError(answer, read.ok ? about.errorIn(read.value.document) : undefined, about)
}

/** Judges an error that the caller has already read. An answer with a 2xx status but without an image may have one too. */
export function judgeError(
  { status, headers, elapsedMs }: Pick<Answer, 'status' | 'headers' | 'elapsedMs'>,
  error: ParsedVendorError | undefined,
  { errorsAreFree, nowMs }: Omit<About, 'errorIn'>,
): AnswerVerdict {
  const verdict = classifyErrorAnswer({ status, elapsedMs, ...defined({ error, errorsAreFree }) })
  const text = verdict.reason === 'rate_limited' ? error?.message : undefined
  const sources = { headers, nowMs, ...defined({ retryDelay: error?.retryDelay, text }) }
  const waitMs = retryAfterMs(sources, cooldownMsMax)
  return { ...verdict, ...defined({ retryAfterMs: waitMs, vendorCode: error?.code }) }
}

export type ParsedVendorError = VendorError & {
  /** The duration from `RetryInfo` of family A, such as `37s`. */
  readonly retryDelay?: string
}

/**
 * Returns the vendor's error from the document of an error body. Returns `undefined` when it is anything else.
 * Family A (Gemini API) sends `{error:{code,message,status,details[]}}`, and Vertex AI
 * may put it into an array of one. Family B (OpenAI API) sends `{error:{message,type,param,code}}`, and Azure
 * OpenAI may send only `message` and `code` of it. Both shapes are accepted in both families, because gateways in
 * front of a vendor use the shape of family B for all models.
 */
export function vendorErrorIn(document: Json | undefined): ParsedVendorError | undefined {
  const error = envelope(document)
  if (error === undefined) return undefined
  const details = objectsOf(error['details'])
  const retryDelay = details.map((detail) => textOf(detail['retryDelay'])).find(Boolean)
  const words = [
    ...details.map((detail) => detail['reason']),
    error['code'],
    error['status'],
    error['type'],
  ].flatMap((word) => textOf(word) ?? [])
  const named = Number(error['code'])
  const status = Number.isInteger(named) && named >= 400 ? named : undefined
  if (words.length === 0 && status === undefined) return undefined
  // Some relays send no message. A known word then shows that the error is the vendor's, and not a proxy's.
  const message = textOf(error['message']) ?? (words.some(meaningOf) ? '' : undefined)
  if (message === undefined) return undefined
  const code = words.find((word) => showableCode.test(word))
  return {
    codes: words.map((word) => word.toLowerCase()),
    quotaIds: details.flatMap(quotaIds),
    message,
    ...defined({ retryDelay, param: textOf(error['param']), status, code }),
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
