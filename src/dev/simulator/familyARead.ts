import { setImmediate as yieldToOthers } from 'node:timers/promises'
import sharp from 'sharp'
import { digestOf } from './callLog.ts'
import { checkRequestA, type PartA, type RequestA } from './familyASchema.ts'
import {
  drawnSourcesMax,
  type OrderRead,
  type Problem,
  problem,
  type SourceImage,
} from './imageOrder.ts'
import { nearestRatio, sizeOfTier } from './imageSizes.ts'
import { type ModelProfileA, profileOf } from './modelProfiles.ts'
import { sniffImage } from './sniffImage.ts'

export type ReadOptionsA = { readonly vendorLimits: boolean }

/** Google's cap on the inline images of one request; only with `vendorLimits`. */
const inlineBytesMax = 20 * 1024 * 1024

/** Checks a generateContent body as the vendor does, and says what image it asks for. */
export async function readOrderA(
  model: string,
  body: unknown,
  options: ReadOptionsA,
): Promise<OrderRead> {
  const checked = checkRequestA(body)
  if (!checked.ok) return problem(400, checked.message)
  const { request } = checked
  const sources = await readSources(request)
  if (!Array.isArray(sources)) return { ok: false, problem: sources }
  const profile = profileOf(model)
  const refusal = checkConfig(request, profile) ?? checkLimits(sources, profile, options)
  if (refusal !== null) return { ok: false, problem: refusal }

  const modalities = request.generationConfig?.responseModalities ?? ['TEXT', 'IMAGE']
  const imageConfig = request.generationConfig?.imageConfig ?? {}
  const tier = imageConfig.imageSize ?? '1K'
  const ratio = imageConfig.aspectRatio ?? (await ratioOf(sources, profile))
  return {
    ok: true,
    order: {
      family: 'A',
      action: sources.length > 0 ? 'edit' : 'generate',
      model,
      prompt: promptOf(request),
      sources,
      ...sizeOfTier(tier, ratio),
      format: 'png',
      tier,
      withText: modalities.includes('TEXT'),
      withImage: modalities.includes('IMAGE'),
      seed: request.generationConfig?.seed ?? null,
    },
  }
}

/** The text of the last turn: earlier turns are what was already answered. */
function promptOf(request: RequestA): string {
  const texts = request.contents
    .filter(({ role }) => role !== 'model')
    .map(({ parts }) => parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n'))
  return texts.findLast((text) => text !== '') ?? ''
}

async function readSources(request: RequestA): Promise<SourceImage[] | Problem> {
  const parts = request.contents.flatMap((content) => content.parts)
  const sources: SourceImage[] = []
  for (const part of parts) {
    if (part.fileData !== undefined) return badArgument('The simulator keeps no uploaded files.')
    if (part.inlineData === undefined) continue
    const source = readSource(part.inlineData, sources.length)
    if (!('sha256' in source)) return source
    sources.push(source)
    await yieldToOthers()
  }
  return sources
}

function readSource(
  inline: NonNullable<PartA['inlineData']>,
  index: number,
): SourceImage | Problem {
  const bytes = Buffer.from(inline.data, 'base64')
  const padding = inline.data.endsWith('==') ? 2 : inline.data.endsWith('=') ? 1 : 0
  if (bytes.length !== Math.floor((inline.data.length * 3) / 4) - padding) {
    return badArgument("Invalid value at 'inline_data.data' (TYPE_BYTES), Base64 decoding failed.")
  }
  const mimeType = sniffImage(bytes)
  if (mimeType === null || mimeType !== inline.mimeType) {
    return badArgument('Unable to process input image. Please retry or report in the forum.')
  }
  const kept = index < drawnSourcesMax ? bytes : null
  return { mimeType, sha256: digestOf(bytes), size: bytes.length, bytes: kept }
}

function checkConfig(request: RequestA, profile: ModelProfileA): Problem | null {
  const config = request.generationConfig ?? {}
  const { aspectRatio, imageSize } = config.imageConfig ?? {}
  if ((config.candidateCount ?? 1) !== 1) {
    return badArgument('Multiple candidates is not enabled for this model')
  }
  if (promptOf(request) === '') return badArgument('The request holds no text.')
  if (aspectRatio !== undefined && !profile.ratios.includes(aspectRatio)) {
    return badArgument(`aspect_ratio must be one of ${profile.ratios.join(', ')}.`)
  }
  if (imageSize === undefined || profile.tiers.includes(imageSize)) return null
  return profile.tiers.length === 0
    ? badArgument('imageSize is not supported for this model.')
    : badArgument(`imageSize must be one of ${profile.tiers.join(', ')}.`)
}

function checkLimits(
  sources: readonly SourceImage[],
  profile: ModelProfileA,
  options: ReadOptionsA,
): Problem | null {
  if (!options.vendorLimits) return null
  if (sources.length > profile.inputImagesMax) {
    return badArgument(`At most ${profile.inputImagesMax} input images are supported.`)
  }
  const bytes = sources.reduce((sum, source) => sum + source.size, 0)
  return bytes > inlineBytesMax
    ? { status: 413, message: 'Request payload size exceeds the limit: 20971520 bytes.' }
    : null
}

/** An image that cannot be decoded still has a place in the drawing, so it does not fail here. */
async function ratioOf(sources: readonly SourceImage[], profile: ModelProfileA): Promise<string> {
  const bytes = sources[0]?.bytes
  if (bytes === null || bytes === undefined) return '1:1'
  const metadata = await sharp(bytes)
    .metadata()
    .catch(() => null)
  return metadata === null ? '1:1' : nearestRatio(metadata, profile.ratios)
}

function badArgument(message: string): Problem {
  return { status: 400, message }
}
