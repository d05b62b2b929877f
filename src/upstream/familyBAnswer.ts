import type { JsonObject } from '../domain/imageRequest.ts'
import type { JsonPath } from '../streams/jsonIntakeFailure.ts'
import { countOf, objectOf, textOf } from './jsonMember.ts'

/** Where an Images answer carries image bytes. */
export function isFamilyBImage(path: JsonPath): boolean {
  return path.length === 3 && path[0] === 'data' && path[2] === 'b64_json'
}

/**
 * An answer that holds no image at all, unlike one whose image is broken or elsewhere. `data` may be
 * missing: of its answers the vendor only requires `created`.
 */
export function isEmptyFamilyB(document: JsonObject): boolean {
  return 'data' in document
    ? Array.isArray(document['data']) && document['data'].length === 0
    : countOf(document['created']) !== undefined
}

/**
 * Exactly the synchronous image response of the spec, the image's place left empty: `size` and `quality`
 * when the route reports them, `usage` with both detail objects. `nowSeconds` stands in for `created`.
 */
export function familyBResponse(document: JsonObject, nowSeconds: number): JsonObject {
  const size = textOf(document['size'])
  const quality = textOf(document['quality'])
  const usage = objectOf(document['usage'])
  return {
    created: countOf(document['created']) ?? nowSeconds,
    data: [{ b64_json: '' }],
    ...(size === undefined ? {} : { size }),
    ...(quality === undefined ? {} : { quality }),
    ...(usage === undefined ? {} : { usage: normalUsage(usage) }),
  }
}

/** Numbers that the upstream leaves out of a usage it reports are 0, or follow from the others. */
function normalUsage(usage: JsonObject): JsonObject {
  const input = details(usage['input_tokens_details'])
  const output = details(usage['output_tokens_details'])
  const inputTokens = countOf(usage['input_tokens']) ?? input.text_tokens + input.image_tokens
  const outputTokens = countOf(usage['output_tokens']) ?? output.text_tokens + output.image_tokens
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: countOf(usage['total_tokens']) ?? inputTokens + outputTokens,
    input_tokens_details: input,
    output_tokens_details: output,
  }
}

function details(value: JsonObject[string] | undefined): {
  readonly text_tokens: number
  readonly image_tokens: number
} {
  const given = objectOf(value)
  return {
    text_tokens: countOf(given?.['text_tokens']) ?? 0,
    image_tokens: countOf(given?.['image_tokens']) ?? 0,
  }
}
