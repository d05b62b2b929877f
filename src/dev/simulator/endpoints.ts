import type { IncomingMessage } from 'node:http'
import { assertNever } from '../../domain/assertNever.ts'
import { badKeyReplyA, badTokenReply } from './familyA/errors.ts'
import { badKeyReplyB, badSubscriptionReply } from './familyB/errors.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/** The APIs that the simulator serves. Vertex AI speaks the format of family A, Azure that of family B. */
export type Vendor = 'gemini' | 'vertex' | 'openai' | 'azure'

/** The operation of a vendor's API, as the path of a request names it. */
export type Operation =
  | { readonly family: 'A'; readonly vendor: 'gemini' | 'vertex'; readonly model: string }
  | {
      readonly family: 'B'
      readonly vendor: 'openai' | 'azure'
      readonly action: 'generate' | 'edit'
    }

/** Returns the operation of a request, or `undefined` when no vendor has such an operation. */
export function operationOf(method: string, url: URL): Operation | undefined {
  if (method !== 'POST') return undefined
  const [, gemini] = /^\/v1beta\/models\/([^/:]+):generateContent$/.exec(url.pathname) ?? []
  if (gemini !== undefined) return { family: 'A', vendor: 'gemini', model: decoded(gemini) }
  const [, vertex] = vertexPath.exec(url.pathname) ?? []
  if (vertex !== undefined) return { family: 'A', vendor: 'vertex', model: decoded(vertex) }
  const [, base = '', call] = /^(.+)\/images\/(generations|edits)$/.exec(url.pathname) ?? []
  const vendor = imagesVendor(base, url)
  if (call === undefined || vendor === undefined) return undefined
  return { family: 'B', vendor, action: call === 'edits' ? 'edit' : 'generate' }
}

const vertexPath =
  /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models\/([^/:]+):generateContent$/

/**
 * Returns the vendor of a path of family B. Azure OpenAI has one path for each deployment, with a date as
 * `api-version` in the query, and the path `/openai/v1`, which needs no such date.
 */
function imagesVendor(base: string, url: URL): 'openai' | 'azure' | undefined {
  if (base === '/v1') return 'openai'
  if (base === '/openai/v1') return 'azure'
  const isDeployment = /^\/openai\/deployments\/[^/]+$/.test(base)
  return isDeployment && hasApiVersion(url) ? 'azure' : undefined
}

function hasApiVersion(url: URL): boolean {
  return /^\d{4}-\d{2}-\d{2}(?:-preview)?$/.test(url.searchParams.get('api-version') ?? '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the credential from the header that the vendor reads, or `undefined` when it is absent or empty. */
export function keyOf(vendor: Vendor, { headers }: IncomingMessage): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  switch (vendor) {
    case 'gemini':
      return headers['x-goog-api-key']?.toString() || undefined
    case 'azure':
      // A token of Microsoft Entra ID comes as a bearer token.
      return (headers['api-key']?.toString() || undefined) ?? bearer
    case 'openai':
    case 'vertex':
      return bearer
    default:
      return assertNever(vendor)
  }
}

/** Returns the answer to a call without a credential. */
export function badKeyReply(vendor: Vendor): Reply {
  switch (vendor) {
    case 'gemini':
      return badKeyReplyA()
    case 'vertex':
      return badTokenReply()
    case 'openai':
      return badKeyReplyB()
    case 'azure':
      return badSubscriptionReply()
    default:
      return assertNever(vendor)
  }
}

/**
 * Returns the answer to a call that costs nothing: the list of models, or for Vertex AI one model. Without a
 * credential that is an error answer. Returns `undefined` for any other request.
 */
export function freeReply(request: IncomingMessage, url: URL): Reply | undefined {
  const vendor = request.method === 'GET' ? freeVendor(url) : undefined
  if (vendor === undefined) return undefined
  if (keyOf(vendor, request) === undefined) return badKeyReply(vendor)
  switch (vendor) {
    case 'gemini':
      return jsonReply(200, { models: [{ name: 'models/gemini-3-pro-image' }] })
    case 'vertex':
      return jsonReply(200, { name: url.pathname.slice('/v1/'.length) })
    case 'openai':
    case 'azure':
      return jsonReply(200, { object: 'list', data: [{ id: 'gpt-image-2', object: 'model' }] })
    default:
      return assertNever(vendor)
  }
}

function freeVendor(url: URL): Vendor | undefined {
  const { pathname } = url
  if (pathname === '/v1beta/models') return 'gemini'
  if (/^\/v1\/publishers\/google\/models\/[^/:]+$/.test(pathname)) return 'vertex'
  if (pathname === '/v1/models') return 'openai'
  if (pathname === '/openai/v1/models') return 'azure'
  return pathname === '/openai/models' && hasApiVersion(url) ? 'azure' : undefined
}
