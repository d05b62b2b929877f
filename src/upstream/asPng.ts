import sharp from 'sharp'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { AnswerImage } from './answerPictures.ts'

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
