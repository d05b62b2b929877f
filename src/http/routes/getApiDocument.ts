import { z } from 'zod'
import { sendJson } from '../answers/sendBody.ts'
import { createApiDocument } from '../apiDocument.ts'
import type { Route } from '../route.ts'
import { json } from '../route.ts'

/** Makes the route that serves the description of `routes`, which is made at the first request. */
export function apiDocumentRoute(routes: () => readonly Route[]): Route {
  return {
    method: 'GET',
    path: '/openapi.json',
    id: 'getApiDocument',
    tag: 'Service',
    summary: 'This description',
    description: 'Not found when the operator sets `PUBLIC_PAGES=off`.',
    extension: true,
    access: 'open',
    envelope: 'full',
    answers: {
      200: {
        description: 'An OpenAPI 3.1 document.',
        content: json(z.looseObject({ openapi: z.string() })),
      },
    },
    errors: ['not_found'],
    handler: ({ config }) => {
      let document: object | undefined
      return async (context) => {
        document ??= createApiDocument(routes(), config)
        context.set('Cache-Control', 'public, max-age=300')
        sendJson(context, 200, document)
        return undefined
      }
    },
  }
}
