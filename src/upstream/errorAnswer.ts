import type { ErrorVerdict, VendorError } from '../domain/classifyErrorAnswer.ts'
import { classifyErrorAnswer } from '../domain/classifyErrorAnswer.ts'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { itemsOf, objectOf, objectsOf, textOf } from '../domain/json.ts'
import { AnswerLostError, firstDocument } from './answerBody.ts'
import { retryAfterMs } from './retryAfter.ts'
import type { Answer } from './send.ts'

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
    ...defined({ error }),
  })
  const retryDelay = error?.retryDelay
  const waitMs = retryAfterMs({
    headers: answer.headers,
    nowMs,
    ...defined({ retryDelay }),
  })
  return { ...verdict, ...defined({ retryAfterMs: waitMs }) }
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

type ParsedVendorError = VendorError & {
  /** RetryInfo of family A, a duration such as `37s`. */
  readonly retryDelay?: string
}

/**
 * The vendor's own error envelope out of an error body, or `undefined` when it is anything else: a
 * proxy's page, another JSON, nothing. Family A: `{error:{code,message,status,details[]}}`, which Vertex
 * may wrap in an array of one; B: `{error:{message,type,param,code}}` (research wire.md sections 1, 2).
 * Gateways in front of a vendor use B's shape for both, so either shape is taken for either family.
 */
export function parseVendorError(body: Uint8Array): ParsedVendorError | undefined {
  const error = envelope(parseJson(body))
  if (error === undefined) return undefined
  const kind = textOf(error['status']) ?? textOf(error['type'])
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

/** QuotaFailure: `violations[]` of `{quotaMetric, quotaId}`. */
function quotaIds(detail: JsonObject): readonly string[] {
  return objectsOf(detail['violations']).flatMap((violation) =>
    [violation['quotaId'], violation['quotaMetric']].flatMap((id) => textOf(id) ?? []),
  )
}
