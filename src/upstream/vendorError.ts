import type { Json, JsonObject } from '../domain/imageRequest.ts'
import type { VendorError } from '../domain/outcomeTable.ts'
import { itemsOf, objectOf, objectsOf, textOf } from './jsonMember.ts'

export type ParsedVendorError = VendorError & {
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
    words: words.flatMap((word) => textOf(word)?.toLowerCase() ?? []),
    quotaIds: details.flatMap(quotaIds),
    message: textOf(error['message']) ?? '',
    ...(retryDelay === undefined ? {} : { retryDelay }),
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
