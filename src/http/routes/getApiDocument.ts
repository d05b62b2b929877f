import { z } from 'zod'
import { createApiDocument } from '../apiDocument.ts'
import type { ApiParts } from '../apiParts.ts'
import type { Handler, Route, RouteGroup } from '../route.ts'
import { json } from '../route.ts'

/** What the routes that describe the API and the admin API have in common. */
export const documentRoute = {
  method: 'GET',
  id: 'getApiDocument',
  summary: 'This description',
  access: 'open',
  answers: {
    200: {
      description: 'An OpenAPI 3.1 document.',
      content: json(z.looseObject({ openapi: z.string() })),
    },
  },
} as const

/**
 * Returns a handler that sends a document. Its bytes are made once, at the first request: anybody may ask for it, and
 * making them takes longer than most requests.
 */
export function sendDocument(make: () => object): Handler {
  let bytes: Buffer | undefined
  return async (context) => {
    bytes ??= Buffer.from(JSON.stringify(make()))
    context.status = 200
    // Koa's `type` would add a charset.
    context.set('Content-Type', 'application/json')
    context.body = bytes
    return undefined
  }
}

/** Makes the route that serves the description of `groups`. */
export function apiDocumentRoute(groups: () => readonly RouteGroup[]): Route<ApiParts> {
  return {
    ...documentRoute,
    path: '/openapi.json',
    description: 'Not found when the operator sets `PUBLIC_PAGES=off`.',
    extension: true,
    errors: ['not_found'],
    handler: ({ config }) => {
      const send = sendDocument(() => createApiDocument(groups(), config))
      return async (context) => {
        context.set('Cache-Control', 'public, max-age=300')
        return send(context)
      }
    },
  }
}
