import type { IncomingHttpHeaders } from 'node:http'
import { assertNever } from '../../domain/assertNever.ts'
import type { Family } from '../../domain/models/models.ts'
import { badKeyReply } from './errors.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/** An API that the simulator serves. Vertex AI speaks the format of family A, Azure that of family B. */
export type Endpoint = {
  readonly family: Family
  readonly vendor: 'gemini' | 'vertex' | 'openai' | 'azure'
  /** The path of a call. Its group is the model in family A, and `generations` or `edits` in family B. */
  readonly call: RegExp
  /** The path of the request that costs nothing: the list of models, or for Vertex AI one model. */
  readonly models: RegExp
}

const dated = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/

const endpoints: readonly Endpoint[] = [
  {
    family: 'A',
    vendor: 'gemini',
    call: /^\/v1beta\/models\/([^/:]+):generateContent$/,
    models: /^\/v1beta\/models$/,
  },
  {
    family: 'A',
    vendor: 'vertex',
    call: /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/([^/:]+):generateContent$/,
    models: /^\/v1\/publishers\/google\/models\/[^/:]+$/,
  },
  {
    family: 'B',
    vendor: 'openai',
    call: /^\/v1\/images\/(generations|edits)$/,
    models: /^\/v1\/models$/,
  },
  {
    family: 'B',
    vendor: 'azure',
    call: /^\/openai\/v1\/images\/(generations|edits)$/,
    models: /^\/openai\/v1\/models$/,
  },
]

/** Azure's other paths. They are served only with a date as `api-version` in the query. */
const datedEndpoint: Endpoint = {
  family: 'B',
  vendor: 'azure',
  call: /^\/openai\/deployments\/[^/]+\/images\/(generations|edits)$/,
  models: /^\/openai\/models$/,
}

function endpointsFor(url: URL): readonly Endpoint[] {
  const isDated = dated.test(url.searchParams.get('api-version') ?? '')
  return isDated ? [...endpoints, datedEndpoint] : endpoints
}

/** A call of a vendor's API. `target` is the model in family A, and `generations` or `edits` in family B. */
export type Operation = { readonly endpoint: Endpoint; readonly target: string }

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
