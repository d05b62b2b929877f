import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { assertNever } from '../../domain/assertNever.ts'
import { defined } from '../../domain/defined.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { EncodedImage } from './drawImage.ts'
import type { AnswerFault } from './faults.ts'
import type { OrderA, OrderRead, SourceImage } from './order.ts'
import { sourceOf } from './order.ts'
import { ratios, sizeOfTier, tiers } from './sizesA.ts'

const partSchema = z.strictObject({
  text: z.string().optional(),
  inlineData: z.strictObject({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.unknown().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
})

const contentSchema = z.strictObject({
  role: z.enum(['user', 'model']).optional(),
  parts: z.array(partSchema).min(1),
})

const generationConfigSchema = z.strictObject({
  responseModalities: z.array(z.enum(['TEXT', 'IMAGE'])).optional(),
  imageConfig: z
    .strictObject({ aspectRatio: z.string().optional(), imageSize: z.string().optional() })
    .optional(),
  candidateCount: z.int().optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().positive().optional(),
  seed: z.int().optional(),
  maxOutputTokens: z.int().positive().optional(),
  stopSequences: z.array(z.string()).max(5).optional(),
  thinkingConfig: z.looseObject({}).optional(),
})

/**
 * The fields of a generateContent request that the image models accept (Gemini API reference). What is inside
 * of `fileData`, `thinkingConfig`, `systemInstruction` and `safetySettings` is not checked.
 */
const requestSchema = z.strictObject({
  contents: z.array(contentSchema).min(1),
  systemInstruction: z.looseObject({}).optional(),
  safetySettings: z.array(z.looseObject({})).optional(),
  generationConfig: generationConfigSchema.optional(),
})

type Request = z.infer<typeof requestSchema>
type Part = z.infer<typeof partSchema>

/** Checks a generateContent body as the vendor does. `body` is `undefined` when the body is not JSON. */
export function readOrderA(model: string, body: unknown): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return fail(z.prettifyError(parsed.error))
  const request = parsed.data
  const read = readSources(request.contents.flatMap(({ parts }) => parts))
  if (!read.ok) return read
  const sources = read.value
  const prompt = promptOf(request)
  const refusal = refusalOf(request, prompt)
  if (refusal !== undefined) return fail(refusal)

  const { responseModalities, imageConfig = {}, seed } = request.generationConfig ?? {}
  const modalities = responseModalities ?? ['TEXT', 'IMAGE']
  const tier = imageConfig.imageSize ?? '1K'
  const ratio = imageConfig.aspectRatio ?? '1:1'
  return succeed({
    family: 'A',
    action: sources.length > 0 ? 'edit' : 'generate',
    model,
    prompt,
    sources,
    ...sizeOfTier(tier, ratio),
    format: 'png',
    count: modalities.includes('IMAGE') ? 1 : 0,
    withText: modalities.includes('TEXT'),
    ...defined({ seed }),
  })
}

/**
 * Returns the text of the user's last turn that has text: earlier calls have answered the turns before it.
 */
function promptOf(request: Request): string {
  const texts = request.contents
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => parts.flatMap(({ text }) => text ?? []).join('\n'))
  return texts.findLast((text) => text !== '') ?? ''
}

function readSources(parts: readonly Part[]): Result<readonly SourceImage[], string> {
  const sources: SourceImage[] = []
  for (const { fileData, inlineData } of parts) {
    if (fileData !== undefined) return fail('The simulator keeps no uploaded files.')
    if (inlineData === undefined) continue
    const { data, mimeType } = inlineData
    const bytes = Buffer.from(data, 'base64')
    const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
    // Buffer.from skips characters that are not base64. So if there are any, the length is too short.
    if (bytes.length !== Math.floor((data.length * 3) / 4) - padding) {
      const field = "'inline_data.data' (TYPE_BYTES)"
      return fail(`Invalid value at ${field}, Base64 decoding failed.`)
    }
    const source = sourceOf(mimeType, bytes, sources.length === 0)
    if (source === undefined) {
      return fail('Unable to process input image. Please retry or report in the forum.')
    }
    sources.push(source)
  }
  return succeed(sources)
}

/** Returns why no model can do what the request asks for, or `undefined`. */
function refusalOf(request: Request, prompt: string): string | undefined {
  const { candidateCount = 1, imageConfig = {} } = request.generationConfig ?? {}
  const { aspectRatio, imageSize } = imageConfig
  if (candidateCount !== 1) return 'Multiple candidates is not enabled for this model'
  if (prompt === '') return 'The request holds no text.'
  if (aspectRatio !== undefined && !ratios.includes(aspectRatio)) {
    return `aspect_ratio must be one of ${ratios.join(', ')}.`
  }
  if (imageSize === undefined || tiers.includes(imageSize)) return undefined
  return `imageSize must be one of ${tiers.join(', ')}.`
}

type Json = Readonly<Record<string, unknown>>

/** Plausible numbers, the same for every prompt and size. */
const [promptTokenCount, imageTokens] = [10, 1120]

/**
 * Returns a GenerateContentResponse (Gemini API reference). `images` is empty when the model made no image.
 */
export function answerA(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  fileUri: string,
): Json {
  const candidatesTokenCount = images.length * imageTokens
  const totalTokenCount = promptTokenCount + candidatesTokenCount
  return {
    ...candidatesOf(order, images, fault, fileUri),
    usageMetadata: { promptTokenCount, candidatesTokenCount, totalTokenCount },
    modelVersion: order.model,
    responseId: randomBytes(12).toString('base64url'),
  }
}

function candidatesOf(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  fileUri: string,
): Json {
  switch (fault?.kind) {
    case 'block':
      return { promptFeedback: { blockReason: fault.reason } }
    case 'zero':
      return fault.form === 'absent' ? {} : { candidates: [] }
    case 'finish':
      return refused(fault.reason, refusedContent[fault.content])
    case 'no-image':
      return refused('NO_IMAGE', {})
    case 'text-only':
      return finished([{ text: 'I can only describe this picture in words.' }])
    case 'url':
      return finished([{ fileData: { mimeType: 'image/png', fileUri } }])
    case 'two':
    case undefined: {
      const text = order.action === 'edit' ? 'Here is the edited image.' : 'Here is your image.'
      const parts = images.map((image) => imagePart(order, image))
      return finished(order.withText ? [{ text }, ...parts] : parts)
    }
    default:
      return assertNever(fault)
  }
}

function finished(parts: readonly Json[]): Json {
  const content = { parts, role: 'model' }
  return { candidates: [{ content, finishReason: 'STOP', index: 0 }] }
}

/** The three forms in which the vendor sends the content of a candidate without an image. */
const refusedContent = {
  none: {},
  empty: { content: { role: 'model' } },
  text: { content: { role: 'model', parts: [{ text: 'I cannot create this image.' }] } },
}

function refused(finishReason: string, content: Json): Json {
  const finishMessage = 'Unable to show the generated image. Try rephrasing the prompt.'
  return { candidates: [{ ...content, finishReason, finishMessage, index: 0 }] }
}

/** A client sends the signature back with its next turn. */
function imagePart(order: OrderA, inlineData: EncodedImage): Json {
  const thoughtSignature = createHash('sha512').update(order.prompt).digest('base64')
  return { inlineData, thoughtSignature }
}
