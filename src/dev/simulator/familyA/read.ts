import { setImmediate as yieldToOthers } from 'node:timers/promises'
import sharp from 'sharp'
import { z } from 'zod'
import { defined } from '../../../domain/defined.ts'
import type { Result } from '../../../domain/result.ts'
import { succeed } from '../../../domain/result.ts'
import { digestOf } from '../callLog.ts'
import type { OrderRead, Problem, SourceImage } from '../imageOrder.ts'
import { refuse, sniffImage } from '../imageOrder.ts'
import type { ModelProfile } from './models.ts'
import { nearestRatio, profileOf, sizeOfTier } from './models.ts'

// The four schemas below have the fields of a generateContent request that the image models accept (Gemini API
// reference). They refuse every other field. What is inside of `fileData`, `thinkingConfig`, `systemInstruction` and
// `safetySettings` is not checked.
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

const requestSchema = z.strictObject({
  contents: z.array(contentSchema).min(1),
  systemInstruction: z.looseObject({}).optional(),
  safetySettings: z.array(z.looseObject({})).optional(),
  generationConfig: generationConfigSchema.optional(),
})

type Request = z.infer<typeof requestSchema>
type InlineData = NonNullable<z.infer<typeof partSchema>['inlineData']>

/** Checks a generateContent body as the vendor does. `body` is `undefined` when the body is not JSON. */
export async function readOrderA(model: string, body: unknown): Promise<OrderRead> {
  // The vendor accepts snake_case too.
  const parsed = requestSchema.safeParse(camelCased(body))
  if (!parsed.success) return refuse(400, messageOf(parsed.error))
  const request = parsed.data
  const read = await readSources(request)
  if (!read.ok) return read
  const sources = read.value
  const profile = profileOf(model)
  const refusal = refusalOf(request, profile)
  if (refusal !== undefined) return refuse(400, refusal)

  const { responseModalities, imageConfig = {}, seed } = request.generationConfig ?? {}
  const modalities = responseModalities ?? ['TEXT', 'IMAGE']
  const tier = imageConfig.imageSize ?? '1K'
  const ratio = imageConfig.aspectRatio ?? (await ratioOf(sources, profile))
  return succeed({
    family: 'A',
    action: sources.length > 0 ? 'edit' : 'generate',
    model,
    prompt: promptOf(request),
    sources,
    ...sizeOfTier(tier, ratio),
    format: 'png',
    count: modalities.includes('IMAGE') ? 1 : 0,
    tier,
    withText: modalities.includes('TEXT'),
    ...defined({ seed }),
  })
}

function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    camelCased(item),
  ])
  return Object.fromEntries(entries)
}

/** Returns an error message like the vendor's. For a wrong value, the words after the path are Zod's. */
function messageOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.join('.') ?? ''
  if (issue?.code !== 'unrecognized_keys') {
    return `Invalid value at '${path}': ${issue?.message ?? 'not an object'}`
  }
  const at = path === '' ? '' : ` at '${path}'`
  return `Invalid JSON payload received. Unknown name "${issue.keys[0] ?? ''}"${at}: Cannot find field.`
}

/**
 * Returns the text of the user's last turn that has text. The turns before it do not count, because earlier calls
 * have answered them.
 */
function promptOf(request: Request): string {
  const texts = request.contents
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => parts.flatMap(({ text }) => text ?? []).join('\n'))
  return texts.findLast((text) => text !== '') ?? ''
}

async function readSources(request: Request): Promise<Result<readonly SourceImage[], Problem>> {
  const sources: SourceImage[] = []
  for (const { fileData, inlineData } of request.contents.flatMap(({ parts }) => parts)) {
    if (fileData !== undefined) return refuse(400, 'The simulator keeps no uploaded files.')
    if (inlineData === undefined) continue
    const source = readSource(inlineData, sources.length === 0)
    if (!source.ok) return source
    sources.push(source.value)
    // Decoding 64 MiB without a pause would block all other calls.
    await yieldToOthers()
  }
  return succeed(sources)
}

function readSource(
  { data, mimeType }: InlineData,
  isFirst: boolean,
): Result<SourceImage, Problem> {
  const bytes = Buffer.from(data, 'base64')
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  // Buffer.from skips characters that are not base64. So if there are any, the length is too short.
  if (bytes.length !== Math.floor((data.length * 3) / 4) - padding) {
    const field = "'inline_data.data' (TYPE_BYTES)"
    return refuse(400, `Invalid value at ${field}, Base64 decoding failed.`)
  }
  if (sniffImage(bytes) !== mimeType) {
    return refuse(400, 'Unable to process input image. Please retry or report in the forum.')
  }
  const kept = defined({ bytes: isFirst ? bytes : undefined })
  return succeed({ mimeType, sha256: digestOf(bytes), sizeBytes: bytes.length, ...kept })
}

/** Returns why the model cannot do what the request asks for, or `undefined` when it can. */
function refusalOf(request: Request, { ratios, tiers }: ModelProfile): string | undefined {
  const { candidateCount = 1, imageConfig = {} } = request.generationConfig ?? {}
  const { aspectRatio, imageSize } = imageConfig
  if (candidateCount !== 1) return 'Multiple candidates is not enabled for this model'
  if (promptOf(request) === '') return 'The request holds no text.'
  if (aspectRatio !== undefined && !ratios.includes(aspectRatio)) {
    return `aspect_ratio must be one of ${ratios.join(', ')}.`
  }
  if (imageSize === undefined || tiers.includes(imageSize)) return undefined
  return tiers.length === 0
    ? 'imageSize is not supported for this model.'
    : `imageSize must be one of ${tiers.join(', ')}.`
}

/**
 * Returns the ratio for a request that names none: the model's ratio that is nearest to the first source image.
 * Returns 1:1 when there is no source image or when it cannot be decoded.
 */
async function ratioOf([first]: readonly SourceImage[], { ratios }: ModelProfile): Promise<string> {
  if (first?.bytes === undefined) return '1:1'
  const metadata = await sharp(first.bytes)
    .metadata()
    .catch(() => undefined)
  return metadata === undefined ? '1:1' : nearestRatio(metadata, ratios)
}
