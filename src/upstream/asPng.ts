import sharp from 'sharp'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { AnswerImage, TakeMemory } from './familyCall.ts'

const transcodeSecondsMax = 60
/** A PNG is hardly larger than its pixels. */
const pixelBytes = 4

/**
 * Returns the image as PNG: itself, or a converted copy when the upstream sent another format. Returns `undefined` when
 * the image cannot be decoded, takes more than a minute, or has more than `outputImagePixelsMax` pixels.
 */
export async function asPng(
  image: AnswerImage,
  takeMemory: TakeMemory,
): Promise<AnswerImage | undefined> {
  if (image.mimeType === 'image/png') return image
  const pixels = image.width * image.height
  if (pixels > outputImagePixelsMax) return undefined
  await takeMemory(pixels * pixelBytes)
  try {
    const decoder = sharp(image.bytes, { limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const { data, info } = await encoder.toBuffer({ resolveWithObject: true })
    return { mimeType: 'image/png', width: info.width, height: info.height, bytes: data }
  } catch {
    return undefined
  }
}
