import type { IncomingHttpHeaders } from 'node:http'
import { badKeyReply } from './errorReplies.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

const modelsB = { object: 'list', data: [{ id: 'gpt-image-2', object: 'model' }] }

/**
 * The vendors' APIs. In the path of a call, the group is the model in family A, and `generations` or `edits` in family
 * B. A GET of the path `models` costs nothing: it gives the list of models, or for Vertex AI one model. Vertex AI speaks
 * the format of family A, Azure and relays that of family B. `dated`: only with a date as `api-version` in the query.
 */
const endpoints = [
  {
    vendor: 'gemini',
    family: 'A',
    call: /^\/v1beta\/models\/([^/:]+):generateContent$/,
    models: /^\/v1beta\/models$/,
    listed: { models: [{ name: 'models/gemini-3-pro-image' }] },
  },
  {
    vendor: 'vertex',
    family: 'A',
    call: /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/([^/:]+):generateContent$/,
    models: /^\/v1\/publishers\/google\/models\/[^/:]+$/,
    listed: { name: 'publishers/google/models/gemini-3-pro-image' },
  },
  {
    vendor: 'openai',
    family: 'B',
    call: /^\/v1\/images\/(generations|edits)$/,
    models: /^\/v1\/models$/,
    listed: modelsB,
  },
  {
    vendor: 'azure',
    family: 'B',
    call: /^\/openai\/v1\/images\/(generations|edits)$/,
    models: /^\/openai\/v1\/models$/,
    listed: modelsB,
  },
  {
    vendor: 'azure',
    family: 'B',
    call: /^\/openai\/deployments\/[^/]+\/images\/(generations|edits)$/,
    models: /^\/openai\/models$/,
    listed: modelsB,
    dated: true,
  },
  {
    vendor: 'relay',
    family: 'B',
    call: /^\/relay\/v1\/images\/(generations|edits)$/,
    models: /^\/relay\/v1\/models$/,
    listed: modelsB,
  },
  {
    vendor: 'relay',
    family: 'B',
    call: /^\/bad-relay\/v1\/images\/(generations|edits)$/,
    models: /^\/bad-relay\/v1\/models$/,
    listed: modelsB,
    isBad: true,
  },
] as const

type Endpoint = (typeof endpoints)[number]

const apiVersion = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/

function endpointsFor({ searchParams }: URL): readonly Endpoint[] {
  const isDated = apiVersion.test(searchParams.get('api-version') ?? '')
  return endpoints.filter((endpoint) => !('dated' in endpoint) || isDated)
}

/** A call of a vendor's API. `target` is the model in family A, and `generations` or `edits` in family B. */
export type Operation = { readonly endpoint: Endpoint; readonly target: string }

/** Returns the operation of a request, or `undefined` when no vendor has such an operation. */
export function operationOf(method: string, url: URL): Operation | undefined {
  if (method !== 'POST') return undefined
  for (const endpoint of endpointsFor(url)) {
    const target = endpoint.call.exec(url.pathname)?.[1]
    if (target !== undefined) return { endpoint, target }
  }
  return undefined
}

/**
 * Returns the credential from the header that the vendor reads, or `undefined` when it is absent or empty.
 */
export function keyOf(
  vendor: Endpoint['vendor'],
  headers: IncomingHttpHeaders,
): string | undefined {
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
  const hasKey = keyOf(found.vendor, headers) !== undefined
  return hasKey ? jsonReply(200, found.listed) : badKeyReply(found.vendor)
}
