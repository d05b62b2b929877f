import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { assertNever } from '../../domain/assertNever.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { AnswerFault } from './faults.ts'
import type { OrderRead, SourceImage } from './order.ts'
import { sourceOf } from './order.ts'

/** The values of `imageSize`, and how many times as wide and high as in the tier 1K an image is. */
const tierFactors = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 }

/** The pixels of the 1K tier, as the vendor documents them. */
const pixels1K: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '1:4': [512, 2048],
  '1:8': [384, 3072],
  '2:3': [848, 1264],
  '3:2': [1264, 848],
  '3:4': [896, 1200],
  '4:1': [2048, 512],
  '4:3': [1200, 896],
  '4:5': [928, 1152],
  '5:4': [1152, 928],
  '8:1': [3072, 384],
  '9:16': [768, 1376],
  '16:9': [1376, 768],
  '21:9': [1584, 672],
}

/** Returns sides in another ratio, with about the pixels of the 1K tier, in whole steps of 16. */
function squareAs(ratio: string): readonly [number, number] {
  const [wide = 1, high = 1] = ratio.split(':').map(Number)
  const sideOf = (part: number) => Math.round((1024 * Math.sqrt(part)) / 16) * 16
  return [sideOf(wide / high), sideOf(high / wide)]
}

const partSchema = z.strictObject({
  text: z.string().optional(),
  inlineData: z.strictObject({ mimeType: z.string(), data: z.string() }).optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
})
const imageConfigSchema = z.strictObject({
  aspectRatio: z
    .string()
    .regex(/^[1-9]\d?:[1-9]\d?$/)
    .default('1:1'),
  imageSize: z.enum(['512', '1K', '2K', '4K']).default('1K'),
})
const generationConfigSchema = z.strictObject({
  responseModalities: z.array(z.enum(['TEXT', 'IMAGE'])).default(['TEXT', 'IMAGE']),
  imageConfig: imageConfigSchema.prefault({}),
  candidateCount: z.literal(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().positive().optional(),
  seed: z.int().optional(),
  maxOutputTokens: z.int().positive().optional(),
  stopSequences: z.array(z.string()).max(5).optional(),
  thinkingConfig: z.looseObject({}).optional(),
})

/**
 * The fields of a generateContent request that the image models accept (Gemini API reference). What is inside of
 * `thinkingConfig`, `systemInstruction` and `safetySettings` is not checked.
 */
const requestSchema = z.strictObject({
  contents: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'model']).optional(),
        parts: z.array(partSchema).min(1),
      }),
    )
    .min(1),
  systemInstruction: z.looseObject({}).optional(),
  safetySettings: z.array(z.looseObject({})).optional(),
  generationConfig: generationConfigSchema.prefault({}),
})

/** Checks a generateContent body as the vendor does. `body` is `undefined` when the body is not JSON. */
export function readOrderA(model: string, body: unknown): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return fail(z.prettifyError(parsed.error))
  const { contents, generationConfig } = parsed.data
  const read = readSources(contents.flatMap(({ parts }) => parts))
  if (!read.ok) return read
  // Of the user's last turn that has text: earlier calls have answered the turns before it.
  const prompt = contents
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => parts.flatMap(({ text }) => text ?? []).join('\n'))
    .findLast((text) => text !== '')
  if (prompt === undefined) return fail('The request holds no text.')
  const { responseModalities, imageConfig, seed } = generationConfig
  const { aspectRatio } = imageConfig
  const [width, height] = pixels1K[aspectRatio] ?? squareAs(aspectRatio)
  const factor = tierFactors[imageConfig.imageSize]
  const text = { text: 'Here is your image.', thoughtSignature: signatureOf(`text ${prompt}`) }
  const textBefore = responseModalities.includes('TEXT') ? [text] : []
  return succeed({
    family: 'A',
    action: read.value.length > 0 ? 'edit' : 'generate',
    model,
    prompt,
    sources: read.value,
    width: width * factor,
    height: height * factor,
    format: 'png',
    compression: 90,
    variant: seed,
    count: responseModalities.includes('IMAGE') ? 1 : 0,
    answer: (images, fault, fileUri) => {
      const parts = [
        ...textBefore,
        ...images.map((inlineData) => ({ inlineData, thoughtSignature: signatureOf(prompt) })),
      ]
      return answerOf(model, images.length, candidatesOf(parts, fault, fileUri))
    },
  })
}

function readSources(
  parts: readonly z.infer<typeof partSchema>[],
): Result<readonly SourceImage[], string> {
  const sources: SourceImage[] = []
  for (const { inlineData } of parts) {
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

type Json = Readonly<Record<string, unknown>>

/** Plausible numbers, the same for every prompt and size. */
const [promptTokenCount, imageTokens] = [10, 1120]

/** Returns a GenerateContentResponse (Gemini API reference). */
function answerOf(modelVersion: string, images: number, candidates: Json): Json {
  const candidatesTokenCount = images * imageTokens
  const totalTokenCount = promptTokenCount + candidatesTokenCount
  return {
    ...candidates,
    usageMetadata: { promptTokenCount, candidatesTokenCount, totalTokenCount },
    modelVersion,
    responseId: randomBytes(12).toString('base64url'),
  }
}

function candidatesOf(
  parts: readonly Json[],
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
    case undefined:
      return finished(parts)
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

/**
 * The first part of an answer and every image have a signature, which a client sends back with its next turn
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
function signatureOf(text: string): string {
  return createHash('sha512').update(text).digest('base64')
}
