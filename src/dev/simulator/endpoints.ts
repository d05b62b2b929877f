import type { IncomingHttpHeaders } from 'node:http'
import { assertNever } from '../../domain/assertNever.ts'
import type { Family } from '../../domain/models/models.ts'
import { badKeyReply } from './errors.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/** Whose API an endpoint belongs to. Vertex AI speaks the format of family A, Azure that of family B. */
type Vendor = 'gemini' | 'vertex' | 'openai' | 'azure'

/**
 * Describes an API. In the path of a call, the group is the model in family A, and `generations` or `edits` in
 * family B. The path `models` costs nothing: it gives the list of models, or for Vertex AI one model.
 */
function endpoint(vendor: Vendor, call: RegExp, models: RegExp) {
  const family: Family = vendor === 'gemini' || vendor === 'vertex' ? 'A' : 'B'
  return { vendor, family, call, models }
}

const endpoints = [
  endpoint('gemini', /^\/v1beta\/models\/([^/:]+):generateContent$/, /^\/v1beta\/models$/),
  endpoint(
    'vertex',
    /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/([^/:]+):generateContent$/,
    /^\/v1\/publishers\/google\/models\/[^/:]+$/,
  ),
  endpoint('openai', /^\/v1\/images\/(generations|edits)$/, /^\/v1\/models$/),
  endpoint('azure', /^\/openai\/v1\/images\/(generations|edits)$/, /^\/openai\/v1\/models$/),
]

/** Azure's other paths. They are served only with a date as `api-version` in the query. */
const datedEndpoint = endpoint(
  'azure',
  /^\/openai\/deployments\/[^/]+\/images\/(generations|edits)$/,
  /^\/openai\/models$/,
)
const apiVersion = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/

function endpointsFor(url: URL) {
  const isDated = apiVersion.test(url.searchParams.get('api-version') ?? '')
  return isDated ? [...endpoints, datedEndpoint] : endpoints
}

/** A call of a vendor's API. `target` is the model in family A, and `generations` or `edits` in family B. */
export type Operation = {
  readonly endpoint: ReturnType<typeof endpoint>
  readonly target: string
}

/** Returns the operation of a request, or `undefined` when no vendor has such an operation. */
export function operationOf(method: string, url: URL): Operation | undefined {
  if (method !== 'POST') return undefined
  for (const endpoint of endpointsFor(url)) {
    const target = endpoint.call.exec(url.pathname)?.[1]
    if (target !== undefined) return { endpoint, target: decoded(target) }
  }
  return undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the credential from the header that the vendor reads, or `undefined` when it is absent or empty. */
export function keyOf(vendor: Vendor, headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (vendor === 'gemini') return headers['x-goog-api-key']?.toString() || undefined
  // A token of Microsoft Entra ID comes as a bearer token.
  return vendor === 'azure' ? headers['api-key']?.toString() || bearer : bearer
}

/** Returns the answer to a request that costs nothing, or `undefined` for any other request. */
export function freeReply(
  method: string,
  url: URL,
  headers: IncomingHttpHeaders,
): Reply | undefined {
  const found = endpointsFor(url).find(({ models }) => models.test(url.pathname))
  if (method !== 'GET' || found === undefined) return undefined
  if (keyOf(found.vendor, headers) === undefined) return badKeyReply(found.vendor)
  switch (found.vendor) {
    case 'gemini':
      return jsonReply(200, { models: [{ name: 'models/gemini-3-pro-image' }] })
    case 'vertex':
      return jsonReply(200, { name: url.pathname.slice('/v1/'.length) })
    case 'openai':
    case 'azure':
      return jsonReply(200, { object: 'list', data: [{ id: 'gpt-image-2', object: 'model' }] })
    default:
      return assertNever(found.vendor)
  }
}
