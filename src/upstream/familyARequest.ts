import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { isArray, objectOf } from '../domain/json.ts'
import type { Capabilities } from '../domain/models/capabilities.ts'
import type { ContentDocument, ImageRequest } from '../domain/tasks/imageRequest.ts'
import type { BodyPiece } from './requestBody.ts'

/**
 * Returns the `generateContent` body for a request. Each image is a piece that is read only while the body is
 * sent. `quality` is not sent, because the Gemini API has no field for it.
 */
export function familyARequest(
  request: ImageRequest,
  capabilities: Capabilities,
): readonly BodyPiece[] {
  const { body } = request
  const document: JsonObject =
    body.kind === 'prompt'
      ? promptDocument(request, body.prompt, capabilities)
      : contentDocument(request, body.content, capabilities)
  return joinText(piecesOf(document, request))
}

function promptDocument(
  request: ImageRequest,
  prompt: string,
  capabilities: Capabilities,
): JsonObject {
  const images = request.inputs.map(({ mimeType }, input) => ({ inlineData: { mimeType, input } }))
  return {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...images] }],
    ...configured({ responseModalities: ['TEXT', 'IMAGE'] }, request, capabilities),
  }
}

function contentDocument(
  request: ImageRequest,
  content: ContentDocument,
  capabilities: Capabilities,
): JsonObject {
  const { generationConfig, ...others } = content
  return { ...others, ...configured(generationConfig ?? {}, request, capabilities) }
}

/**
 * Returns the generation config with size and aspect ratio. Sends `imageSize` only to models that know this
 * field. Other models answer with an error, even if the value is the one size that they make.
 */
function configured(
  config: JsonObject,
  request: ImageRequest,
  capabilities: Capabilities,
): JsonObject {
  const { imageConfig: _given, ...others } = config
  const { imageSize, aspectRatio, ...given } = objectOf(config['imageConfig']) ?? {}
  const size = request.size ?? imageSize
  const ratio = request.aspectRatio ?? aspectRatio
  const imageConfig: JsonObject = {
    ...given,
    ...defined({ aspectRatio: ratio, imageSize: capabilities.sizeIsSent ? size : undefined }),
  }
  const present = Object.keys(imageConfig).length > 0
  const generationConfig = { ...others, ...(present ? { imageConfig } : {}) }
  return Object.keys(generationConfig).length > 0 ? { generationConfig } : {}
}

/**
 * Writes a document as JSON in pieces. In the document, `inlineData.input` is the index of an input image.
 * The JSON has `inlineData.data` instead: the image in base64.
 */
function piecesOf(value: Json, request: ImageRequest): readonly BodyPiece[] {
  if (value === null || typeof value !== 'object') return [text(JSON.stringify(value))]
  if (isArray(value)) {
    const items = value.flatMap((item, at) => [separator(at), ...piecesOf(item, request)])
    return [text('['), ...items, text(']')]
  }
  const members = Object.entries(value).flatMap(([key, member], at) => [
    separator(at),
    ...(key === 'inlineData' ? inlineData(member, request) : memberPieces(key, member, request)),
  ])
  return [text('{'), ...members, text('}')]
}

function memberPieces(key: string, member: Json, request: ImageRequest): readonly BodyPiece[] {
  return [text(`${JSON.stringify(key)}:`), ...piecesOf(member, request)]
}

function inlineData(member: Json, request: ImageRequest): readonly BodyPiece[] {
  const { mimeType, input: index } = objectOf(member) ?? {}
  const input = typeof index === 'number' ? request.inputs[index] : undefined
  if (input === undefined) throw new Error('Bug: a document names an image it does not have')
  const head = `"inlineData":{"mimeType":${JSON.stringify(mimeType ?? input.mimeType)},"data":"`
  return [text(head), { kind: 'base64', input }, text('"}')]
}

function joinText(pieces: readonly BodyPiece[]): readonly BodyPiece[] {
  const joined: BodyPiece[] = []
  let texts: string[] = []
  for (const piece of pieces) {
    if (piece.kind === 'text') texts.push(piece.text)
    else joined.push(text(texts.splice(0).join('')), piece)
  }
  return [...joined, text(texts.join(''))]
}

function separator(at: number): BodyPiece {
  return text(at === 0 ? '' : ',')
}

function text(value: string): BodyPiece {
  return { kind: 'text', text: value }
}
