import type { ImageRequest, Json } from './imageRequest.ts'

/** Raised whenever two requests that were equal may canonicalize differently, or the reverse. */
export const canonicalVersion = 1

/**
 * The normalized request as stable text (spec, Idempotency rules): route and version included, images
 * by digest and type, object keys sorted, defaults filled by the schema before. Equal text means
 * "the same request"; its SHA-256 is the fingerprint.
 */
export function canonicalRequest(request: ImageRequest): string {
  const { route, model, action, size, aspectRatio, quality, body, inputs } = request
  return stableText({
    version: canonicalVersion,
    route,
    model,
    action,
    ...(size === undefined ? {} : { size }),
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(quality === undefined ? {} : { quality }),
    body: body.kind === 'prompt' ? { prompt: body.prompt } : { content: { ...body.content } },
    inputs: inputs.map((input) => ({ mimeType: input.mimeType, sha256: input.sha256 })),
  })
}

/** JSON with the keys of every object sorted by code unit. */
export function stableText(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(stableText).join(',')}]`
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${stableText(member)}`)
  return `{${members.join(',')}}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
