import { createHash, randomUUID } from 'node:crypto'
import { defined } from '../domain/defined.ts'
import type { Json, JsonObject, JsonPath } from '../domain/json.ts'
import { camelCased, countOf, itemsOf, objectOf, textOf } from '../domain/json.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import type { ModelId } from '../domain/models/models.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import type { ErrorVerdict } from '../domain/upstream/classifyErrorAnswer.ts'
import type { OutcomeEvidence, UpstreamCall } from '../domain/upstream/upstreamCall.ts'
import { meaningOf, showableCode } from '../domain/upstream/vendorWords.ts'
import type { AnswerImage, ChosenPicture, Picture } from './answerPictures.ts'
import { lastWhole } from './answerPictures.ts'
import type { AnswerVerdict, FamilyCall, ModelAnswer } from './modelAnswer.ts'
import type { BodyPiece } from './requestBody.ts'

/** Prepares one call of family A: `generateContent` of the Gemini API. */
export function familyACall(
  { upstreamKey, channel, request }: UpstreamCall,
  { models }: { readonly models: ModelTable },
): FamilyCall {
  const names = publicNames(request.model, upstreamKey)
  return {
    contentType: 'application/json',
    pieces: familyARequest(request, models, channel.extraFields),
    judge: async (answer) => await judgeFamilyA(answer, names),
  }
}

/**
 * Returns the names that replace those of the upstream for the client. The response id is a digest of the upstream idempotency key. So repeated calls
 * with the same key get the same id, and the client does not see the key itself.
 */
function publicNames(model: ModelId, upstreamKey: string) {
  const digest = createHash('sha256').update(`response ${upstreamKey}`).digest('base64url')
  return { modelVersion: model, responseId: digest.slice(0, 22) }
}

/** Returns whether the vendor documents an image at this path. Some upstreams write `inline_data` in snake_case. */
function isInPlace(path: JsonPath): boolean {
  const place = path.filter((step) => typeof step === 'string').join('.')
  return path[1] === 0 && /^candidates\.content\.parts\.inline_?[dD]ata\.data$/.test(place)
}

/**
 * Judges what a 2xx answer of family A means. Chooses the last whole image that is not marked as a thought,
 * because thinking models send drafts before the final image. The response for the client is in camelCase and
 * contains only one candidate. An empty string replaces the data of the chosen image. All other images
 * are left out.
 */
export async function judgeFamilyA(
  answer: ModelAnswer,
  names: ReturnType<typeof publicNames>,
): Promise<AnswerVerdict> {
  // Some upstreams write snake_case (`inline_data`).
  const document = objectOf(camelCased(answer.document)) ?? {}
  const candidates = itemsOf(document['candidates']).map(objectOf)
  const finals = answer.pictures.filter(isFinal)
  const chosen =
    (await lastWhole(finals, isInPlace)) ?? (await lastThought(answer.pictures, candidates[0]))
  const at = placeOf(chosen)
  const candidate = candidates[at?.candidate ?? 0]
  const given = candidate === undefined ? [] : partsOf(candidate)
  const parts = given.flatMap((part, index) => {
    if (index === at?.part && chosen !== undefined) return [withImage(part, chosen.image)]
    return 'inlineData' in part || 'fileData' in part ? [] : [part]
  })
  if (chosen !== undefined && at === undefined) parts.push(withImage({}, chosen.image))
  const shown = candidate ?? (chosen && { finishReason: 'STOP', index: 0 })
  const response: JsonObject = {
    ...(shown === undefined ? {} : { candidates: [withParts(shown, parts)] }),
    ...defined({
      promptFeedback: document['promptFeedback'],
      usageMetadata: document['usageMetadata'],
    }),
    ...names,
  }
  if (chosen === undefined) {
    const why = isBroken(answer.pictures, given, candidate)
      ? ({ class: 'unknown', reason: 'broken_body' } as const)
      : whyNoImage(document, candidate)
    return why.class === 'rejected' ? { ...why, nativeRejection: response } : why
  }
  const index = parts.findIndex((part) => 'inlineData' in part)
  const imagePath = ['candidates', 0, 'content', 'parts', index, 'inlineData', 'data']
  const { image, met } = chosen
  return { class: 'succeeded', reason: 'image', image, native: { response, imagePath }, ...met }
}

/**
 * Returns the last picture that is marked as a thought, if the model has ended well and made no other one, whole or
 * broken: a model was seen to mark its only picture so (https://github.com/Lixpi/lixpi/issues/135).
 */
async function lastThought(
  pictures: readonly Picture[],
  candidate: JsonObject | undefined,
): Promise<ChosenPicture | undefined> {
  const isAlone = !pictures.some(isFinal) && !partsOf(candidate ?? {}).some(isImagePart)
  const last = pictures.findLast(({ kind, path }) => kind === 'thought' && path[1] === 0)
  if (last === undefined || !isAlone || !hasStopped(candidate)) return undefined
  const image = await last.read()
  return image && { image, path: last.path, met: { shape: 'thought' } }
}

function isFinal({ kind }: Picture): boolean {
  return kind === 'final'
}

function hasStopped(candidate: JsonObject | undefined): boolean {
  return candidate?.['finishReason'] === 'STOP'
}

/** Returns where the chosen picture stands, if it is in a part of a candidate. */
function placeOf(chosen: ChosenPicture | undefined) {
  const [top, candidate, content, list, part] = chosen?.path ?? []
  return top === 'candidates' && content === 'content' && list === 'parts'
    ? { candidate: Number(candidate), part: Number(part) }
    : undefined
}

/** Returns a part with the image in the place that the vendor documents, whatever mark, link or text had it. */
function withImage(part: JsonObject, { mimeType }: AnswerImage): JsonObject {
  const { thought: _thought, fileData: _link, text, ...others } = part
  return { ...others, ...(text ? { text } : {}), inlineData: { mimeType, data: '' } }
}

/** Returns whether a part is an image for the client. The bytes of the image may be incomplete, or elsewhere. */
function isImagePart(part: JsonObject): boolean {
  return ('inlineData' in part && part['thought'] !== true) || 'fileData' in part
}

/** Returns whether there is an image that cannot be shown. An image by link is one: Darkroom does not follow links. */
function isBroken(
  pictures: readonly Picture[],
  parts: readonly JsonObject[],
  candidate: JsonObject | undefined,
): boolean {
  const isOnlyThought = hasStopped(candidate) && pictures.some(({ kind }) => kind === 'thought')
  return isOnlyThought || pictures.some(isFinal) || parts.some(isImagePart)
}

function whyNoImage(
  document: JsonObject,
  candidate: JsonObject | undefined,
): ErrorVerdict & Pick<OutcomeEvidence, 'vendorCode'> {
  const blocked = textOf(objectOf(document['promptFeedback'])?.['blockReason'])
  if (candidate === undefined && blocked === undefined && !isFamilyAAnswer(document)) {
    return { class: 'unknown', reason: 'broken_body' }
  }
  const word = blocked ?? textOf(candidate?.['finishReason']) ?? ''
  const vendorCode = showableCode.test(word) ? { vendorCode: word } : {}
  const meaning = meaningOf(word)
  if (meaning === 'account') return { class: 'operator_fault', reason: 'forbidden', ...vendorCode }
  const isPolicy = blocked !== undefined || meaning === 'moderation'
  return { class: 'rejected', reason: isPolicy ? 'content_policy' : 'no_image', ...vendorCode }
}

/**
 * Returns whether the document is an answer of family A at all. Upstreams leave empty lists out, so a real
 * answer may have no candidates and no block reason. It then still has `usageMetadata`.
 */
function isFamilyAAnswer(document: JsonObject): boolean {
  return Array.isArray(document['candidates']) || objectOf(document['usageMetadata']) !== undefined
}

/**
 * Returns the parts of a candidate. An item that is not an object becomes an empty object, so that every
 * index is the same as in the answer.
 */
function partsOf(candidate: JsonObject): readonly JsonObject[] {
  return itemsOf(objectOf(candidate['content'])?.['parts']).map((part) => objectOf(part) ?? {})
}

function withParts(candidate: JsonObject, parts: readonly JsonObject[]): JsonObject {
  const content =
    objectOf(candidate['content']) ?? (parts.length > 0 ? { role: 'model' } : undefined)
  return content === undefined ? candidate : { ...candidate, content: { ...content, parts } }
}

/**
 * Returns the `generateContent` body for a request. Each image is a piece that is read only while the body is
 * sent. `quality` is not sent, because the Gemini API has no field for it.
 */
export function familyARequest(
  request: ImageRequest,
  models: ModelTable,
  extraFields: JsonObject = {},
): readonly BodyPiece[] {
  const { body, inputs } = request
  const document: JsonObject =
    body.kind === 'prompt' ? promptDocument(body.prompt, inputs) : body.content
  const { generationConfig, ...others } = document
  const sendsSize = models.get(request.model)?.sizeIsSent !== false
  const config = configured(objectOf(generationConfig) ?? {}, request, sendsSize)
  return piecesOf({ ...extraFields, ...others, ...config }, inputs)
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
function configured(config: JsonObject, request: ImageRequest, sendsSize: boolean): JsonObject {
  const { imageConfig: _given, ...others } = config
  const { imageSize, aspectRatio, ...given } = objectOf(config['imageConfig']) ?? {}
  const size = request.size ?? imageSize
  const ratio = request.aspectRatio ?? aspectRatio
  const imageConfig: JsonObject = {
    ...given,
    ...defined({ aspectRatio: ratio, imageSize: sendsSize ? size : undefined }),
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
