import { createHash } from 'node:crypto'
import { z } from 'zod'
import { etagMatches } from '../answers/etag.ts'
import { sendJson } from '../answers/sendBody.ts'
import { createApiDocument } from '../apiDocument.ts'
import type { Handler } from '../context.ts'
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
    headers: { 'If-None-Match': z.string().optional() },
    answers: {
      200: {
        description: 'An OpenAPI 3.1 document.',
        headers: ['ETag'],
        content: json(z.looseObject({ openapi: z.string() })),
      },
      304: {
        description: 'The document that the client has is the right one.',
        headers: ['ETag'],
      },
    },
    errors: ['not_found'],
    handler: ({ config }) => sendDocument(() => createApiDocument(routes(), config)),
  }
}

function sendDocument(create: () => object): Handler {
  let made: { readonly document: object; readonly etag: string } | undefined
  return async (context) => {
    made ??= withEtag(create())
    context.set({ ETag: made.etag, 'Cache-Control': 'public, max-age=300' })
    if (etagMatches(context.get('If-None-Match'), made.etag)) context.status = 304
    else sendJson(context, 200, made.document)
    return undefined
  }
}

function withEtag(document: object): { readonly document: object; readonly etag: string } {
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('base64url')
  return { document, etag: `"${digest}"` }
}
