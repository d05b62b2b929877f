import { createHash } from 'node:crypto'
import { createApiDocument } from '../../openapi/apiDocument.ts'
import { sendJson } from '../answers/sendBody.ts'
import type { ApiDeps, Handler } from '../context.ts'
import { etagMatches } from '../answers/etag.ts'

/** `GET /openapi.json`: answers with the OpenAPI document of the service, which is made at the first request. */
export function getApiDocument({ config }: Pick<ApiDeps, 'config'>): Handler {
  let made: { readonly document: object; readonly etag: string } | undefined
  return async (context) => {
    made ??= withEtag(createApiDocument(config))
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
