import { createHash, createHmac } from 'node:crypto'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject, JsonPath } from '../domain/json.ts'
import { countOf, objectOf, textOf } from '../domain/json.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import { upstreamModelName } from '../domain/upstream/channel.ts'
import type { UpstreamCall } from '../domain/upstream/upstreamCall.ts'
import { lastWhole } from './answerPictures.ts'
import { asPng } from './asPng.ts'
import type { AnswerVerdict, FamilyCall, ModelAnswer } from './modelAnswer.ts'
import type { BodyPiece } from './requestBody.ts'

/** Prepares one call of family B: generations or edits of the OpenAI Images API. */
export function familyBCall(
  { channel, accountId, upstreamKey, request }: UpstreamCall,
  { safetySecret }: { readonly safetySecret: string },
): FamilyCall {
  const fixed = {
    model: upstreamModelName(channel, request.model),
    ...channel.extraFields,
    ...(channel.safetyIdentifier === true
      ? { safety_identifier: safetyIdentifier(accountId, safetySecret) }
      : {}),
  }
  // A repeat under the same key has the same bytes, because relays compare them.
  const boundary = createHash('sha256').update(`boundary ${upstreamKey}`).digest('hex')
  return {
    ...familyBRequest(request, fixed, `darkroom-${boundary.slice(0, 40)}`),
    judge: judgeFamilyB,
  }
}

/**
 * Returns the name of an account for the vendor's abuse checks: stable, of 64 characters, and no way back to the account
 * (https://developers.openai.com/docs/guides/safety-best-practices, `safety_identifier`).
 */
export function safetyIdentifier(accountId: string, secret: string): string {
  return createHmac('sha256', secret).update(accountId).digest('hex')
}

/**
 * Judges a 2xx answer. Chooses the last whole image. An answer that has its image only by URL is broken,
 * because Darkroom does not fetch URLs.
 */
async function judgeFamilyB({ document, pictures }: ModelAnswer): Promise<AnswerVerdict> {
  if (pictures.length === 0 && isEmptyFamilyB(document)) {
    return { class: 'rejected', reason: 'no_image' }
  }
  const finals = pictures.filter(({ kind }) => kind === 'final')
  const chosen = await lastWhole(finals, isInPlace)
  const image = chosen && (await asPng(chosen.image))
  if (chosen === undefined || image === undefined)
    return { class: 'unknown', reason: 'broken_body' }
  const response = familyBResponse(document, Math.floor(Date.now() / 1000))
  const native = { response, imagePath: ['data', 0, 'b64_json'] }
  return { class: 'succeeded', reason: 'image', image, native, ...chosen.met }
}

/** Returns whether the vendor documents an image at this path. */
function isInPlace(path: JsonPath): boolean {
  return path.length === 3 && path[0] === 'data' && path[2] === 'b64_json'
}

/** Where upstreams put images. */
const imageKeys = ['data', 'images', 'image', 'output', 'result', 'url', 'b64_json', 'b64'] as const

/**
 * Returns whether an answer says that there is no image. Returns false when the image is broken, or is given
 * by URL. `data` may be missing, because the OpenAI API requires only `created`.
 */
function isEmptyFamilyB(document: JsonObject): boolean {
  const given = imageKeys.flatMap((key) => document[key] ?? [])
  if (given.length > 0) return false
  return imageKeys.some((key) => key in document) || countOf(document['created']) !== undefined
}

/**
 * Returns exactly the synchronous image response of the API contract. An empty string stands in the place of
 * the image. `size` and `quality` are present only if the upstream reports them. `usage` is always present, as clients
 * read its numbers without asking. `nowSeconds` is used when the answer has no `created`.
 */
export function familyBResponse(document: JsonObject, nowSeconds: number): JsonObject {
  const size = textOf(document['size'])
  const quality = textOf(document['quality'])
  return {
    created: countOf(document['created']) ?? countOf(document['created_at']) ?? nowSeconds,
    data: [{ b64_json: '' }],
    ...defined({ size, quality }),
    usage: fullUsage(objectOf(document['usage']) ?? {}),
  }
}

/**
 * Returns the usage with every number that the API contract names. If the upstream leaves out a number,
 * computes it from the other numbers, or sets it to 0.
 */
function fullUsage(usage: JsonObject): JsonObject {
  const input = tokensOf(usage['input_tokens'], usage['input_tokens_details'])
  const left = (countOf(usage['total_tokens']) ?? 0) - input.tokens
  const output = tokensOf(usage['output_tokens'], usage['output_tokens_details'], left)
  return {
    input_tokens: input.tokens,
    output_tokens: output.tokens,
    total_tokens: countOf(usage['total_tokens']) ?? input.tokens + output.tokens,
    input_tokens_details: input.details,
    output_tokens_details: output.details,
  }
}

/** Returns a sum of tokens and its parts. What the upstream does not divide counts as tokens of images. */
function tokensOf(given: Json | undefined, details: Json | undefined, unnamed = 0) {
  const parts = objectOf(details)
  const [text, image] = [countOf(parts?.['text_tokens']), countOf(parts?.['image_tokens'])]
  const tokens =
    countOf(given) ?? ((text ?? image) === undefined ? Math.max(0, unnamed) : undefined)
  const text_tokens = text ?? 0
  const image_tokens = image ?? Math.max(0, (tokens ?? 0) - text_tokens)
  return { tokens: tokens ?? text_tokens + image_tokens, details: { text_tokens, image_tokens } }
}

/**
 * Returns the JSON body of a generation, or the form of an edit. Asks for PNG, because the API contract
 * promises PNG. `fixed` are the fields that do not come from the request. `boundary` must be text that
 * no part contains: the key of the call is made after the parts.
 */
function familyBRequest(
  request: ImageRequest,
  fixed: Fields,
  boundary: string,
): Pick<FamilyCall, 'contentType' | 'pieces'> {
  if (request.body.kind !== 'prompt') throw new Error('Bug: family B has no content documents')
  const fields = {
    ...fixed,
    prompt: request.body.prompt,
    n: 1,
    ...defined({ size: request.size, quality: request.quality }),
    output_format: 'png',
  }
  switch (request.action) {
    case 'generate':
      return {
        contentType: 'application/json',
        pieces: [{ kind: 'text', text: JSON.stringify(fields) }],
      }
    case 'edit':
      return {
        contentType: `multipart/form-data; boundary=${boundary}`,
        pieces: formPieces(fields, request, boundary),
      }
    default:
      return assertNever(request.action)
  }
}

type Fields = Readonly<Record<string, string | number | boolean>>

function formPieces(fields: Fields, request: ImageRequest, boundary: string): readonly BodyPiece[] {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${partHead(boundary, `name="${name}"`)}\r\n${String(value)}\r\n`,
  )
  // Upstreams accept a single image as `image`. They accept several images only as `image[]`.
  const name = request.inputs.length === 1 ? 'image' : 'image[]'
  const images = request.inputs.flatMap((input, at): readonly BodyPiece[] => {
    const fileName = `image-${at + 1}.${input.mimeType.slice('image/'.length)}`
    const head = partHead(boundary, `name="${name}"; filename="${fileName}"`)
    return [
      { kind: 'text', text: `${head}Content-Type: ${input.mimeType}\r\n\r\n` },
      { kind: 'raw', input },
      { kind: 'text', text: '\r\n' },
    ]
  })
  return [
    { kind: 'text', text: texts.join('') },
    ...images,
    { kind: 'text', text: `--${boundary}--\r\n` },
  ]
}

function partHead(boundary: string, disposition: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
}
