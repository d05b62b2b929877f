import { z } from 'zod'
import { sendJson } from '../answers/sendBody.ts'
import { createApiDocument } from '../apiDocument.ts'
import type { Handler } from '../context.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'

/** What the routes that describe the API and the admin API have in common. */
export const documentRoute = {
  method: 'GET',
  id: 'getApiDocument',
  tag: 'Service',
  summary: 'This description',
  access: 'open',
  envelope: 'full',
  answers: {
    200: {
      description: 'An OpenAPI 3.1 document.',
      content: json(z.looseObject({ openapi: z.string() })),
    },
  },
} as const

/** Returns a handler that sends a document, which is made at the first request. */
export function sendDocument(make: () => object): Handler {
  let document: object | undefined
  return async (context) => {
    document ??= make()
    sendJson(context, 200, document)
    return undefined
  }
}

/** Makes the route that serves the description of `routes`. */
export function apiDocumentRoute(routes: () => readonly Route[]): Route {
  return {
    ...documentRoute,
    path: '/openapi.json',
    description: 'Not found when the operator sets `PUBLIC_PAGES=off`.',
    extension: true,
    errors: ['not_found'],
    handler: ({ config }) => {
      const send = sendDocument(() => createApiDocument(routes(), config))
      return async (context) => {
        context.set('Cache-Control', 'public, max-age=300')
        return send(context)
      }
    },
  }
}
