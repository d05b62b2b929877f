import type { JsonObject } from '../domain/json.ts'
import { textOf } from '../domain/json.ts'
import type { Answer } from './exchange.ts'

/**
 * The headers in which vendors, and gateways in front of them, name an answer. The one that the support of the vendor
 * asks for comes first: Azure sends several.
 */
const headerNames = [
  'apim-request-id',
  'x-request-id',
  'x-ms-request-id',
  'request-id',
  'x-goog-request-id',
  'x-amzn-requestid',
  'x-oneapi-request-id',
] as const

const lengthMax = 128

/** Returns the id that Google gives an answer in its document. Relays pass it on. */
export function responseIdIn(document: JsonObject): string | undefined {
  return textOf(document['responseId'] ?? document['response_id'])
}

/**
 * Returns the id that the vendor gave an answer, from its headers or from its document (`inBody`); else that of the edge
 * in front of the vendor. Removes all characters that could be harmful in a log.
 */
export function upstreamRequestId(
  headers: Answer['headers'],
  inBody: string | undefined,
): string | undefined {
  const inHeaders = headerNames.map((name) => headers[name])
  const ids = [...inHeaders, inBody, headers['cf-ray']].map((value) => {
    const text = Array.isArray(value) ? value[0] : value
    return text?.replaceAll(/[^0-9A-Za-z._:/=+-]/g, '').slice(0, lengthMax)
  })
  return ids.find((id = '') => id !== '')
}
