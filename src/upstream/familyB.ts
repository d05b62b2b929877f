import { createHash, createHmac } from 'node:crypto'
import sharp from 'sharp'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { JsonObject, JsonPath } from '../domain/json.ts'
import { countOf, objectOf, textOf } from '../domain/json.ts'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import { upstreamModelName } from '../domain/upstream/channel.ts'
import type { UpstreamCall } from '../domain/upstream/upstreamCall.ts'
import type { AnswerImage, AnswerVerdict, FamilyCall, ModelAnswer } from './modelAnswer.ts'
import type { BodyPiece } from './requestBody.ts'

/** Prepares one call of family B: generations or edits of the OpenAI Images API. */
export function familyBCall(
  { channel, accountId, upstreamKey }: UpstreamCall,
  request: ImageRequest,
  safetySecret: string,
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
    isImage: isFamilyBImage,
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
 * Judges a 2xx answer. Chooses the first whole image. An answer that has its image only by URL is broken,
 * because Darkroom does not fetch URLs.
 */
async function judgeFamilyB(answer: ModelAnswer): Promise<AnswerVerdict> {
  if (isEmptyFamilyB(answer.document)) return { class: 'rejected', reason: 'no_image' }
  const first = await firstWhole(answer.images)
  const image = first === undefined ? undefined : await asPng(first)
  if (image === undefined) return { class: 'unknown', reason: 'broken_body' }
  const response = familyBResponse(answer.document, Math.floor(Date.now() / 1000))
  const native = { response, imagePath: ['data', 0, 'b64_json'] }
  return { class: 'succeeded', reason: 'image', image, native }
}

async function firstWhole(images: ModelAnswer['images']): Promise<AnswerImage | undefined> {
  for (const { read } of images) {
    const image = await read()
    if (image !== undefined) return image
  }
  return undefined
}

const transcodeSecondsMax = 60

/**
 * Returns the image as PNG: itself, or a converted copy when the upstream sent another format. Returns `undefined` when
 * the image cannot be decoded, takes more than a minute, or has more than `outputImagePixelsMax` pixels. Few images are
 * converted at once, one in each thread of Node, so their pixels need no limit of their own.
 */
export async function asPng(image: AnswerImage): Promise<AnswerImage | undefined> {
  if (image.mimeType === 'image/png') return image
  try {
    const decoder = sharp(image.bytes, { limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const { data: bytes, info } = await encoder.toBuffer({ resolveWithObject: true })
    return { mimeType: 'image/png', width: info.width, height: info.height, bytes }
  } catch {
    return undefined
  }
}

/** Returns whether an answer has image bytes at this path. */
function isFamilyBImage(path: JsonPath): boolean {
  return path.length === 3 && path[0] === 'data' && path[2] === 'b64_json'
}

/**
 * Returns whether an answer says that there is no image. Returns false when the image is broken, or is given
 * by URL. `data` may be missing, because the OpenAI API requires only `created`.
 */
function isEmptyFamilyB(document: JsonObject): boolean {
  return 'data' in document
    ? Array.isArray(document['data']) && document['data'].length === 0
    : countOf(document['created']) !== undefined
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
    created: countOf(document['created']) ?? nowSeconds,
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
