import { randomUUID } from 'node:crypto'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { countOf, objectOf } from '../domain/json.ts'
import type { Capabilities } from '../domain/models/capabilities.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import type { BodyPiece } from './requestBody.ts'

/**
 * Returns the `generateContent` body for a request. Each image is a piece that is read only while the body is
 * sent. `quality` is not sent, because the Gemini API has no field for it.
 */
export function familyARequest(
  request: ImageRequest,
  capabilities: Capabilities,
): readonly BodyPiece[] {
  const { body, inputs } = request
  const document: JsonObject =
    body.kind === 'prompt' ? promptDocument(body.prompt, inputs) : body.content
  const { generationConfig, ...others } = document
  const config = configured(objectOf(generationConfig) ?? {}, request, capabilities)
  return piecesOf({ ...others, ...config }, inputs)
}

function promptDocument(prompt: string, inputs: ImageRequest['inputs']): JsonObject {
  const images = inputs.map(({ mimeType }, input) => ({ inlineData: { mimeType, input } }))
  return {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...images] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
  }
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
 * Writes a document as JSON in pieces. In the document, `inlineData.input` is the index of an input image. The JSON has
 * `inlineData.data` instead: the image in base64. It is cut at random marks, which stand where the images belong and
 * which no text can contain.
 */
function piecesOf(document: JsonObject, inputs: ImageRequest['inputs']): readonly BodyPiece[] {
  const mark = randomUUID()
  const json = JSON.stringify(document, (key, value: Json) => {
    if (key !== 'inlineData') return value
    const { mimeType, input } = objectOf(value) ?? {}
    return { mimeType, data: `${mark}${String(countOf(input))}.` }
  })
  return json.split(new RegExp(`${mark}(\\w+)\\.`)).map((text, at): BodyPiece => {
    if (at % 2 === 0) return { kind: 'text', text }
    const input = inputs[Number(text)]
    if (input === undefined) throw new Error('Bug: a document names an image it does not have')
    return { kind: 'base64', input }
  })
}
