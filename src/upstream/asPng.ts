import { Readable } from 'node:stream'
import sharp from 'sharp'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { HeldImage } from '../domain/upstreamOutcome.ts'
import type { HoldDeps } from './holdBytes.ts'
import { holdImage } from './holdImage.ts'

const transcodeSecondsMax = 60

/**
 * The image as PNG: itself, or transcoded when the upstream disobeyed (design section 4, Sync B). Takes
 * `image` over: it is discarded unless it is the answer. `undefined`: it could not be decoded, or is
 * larger than `outputImagePixelsMax`.
 */
export async function asPng(image: HeldImage, deps: HoldDeps): Promise<HeldImage | undefined> {
  if (image.mimeType === 'image/png') return image
  try {
    const decoder = sharp({ limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const encoder = decoder.autoOrient().timeout({ seconds: transcodeSecondsMax }).png()
    const source = Readable.from(image.open())
    // A pipe does not carry the source's failure on.
    source.on('error', (error) => encoder.destroy(error)).pipe(encoder)
    return await holdImage(encoder, deps)
  } catch (error) {
    if (isDecodeError(error)) return undefined
    throw error
  } finally {
    await image.discard()
  }
}

/** The library's own failures are plain errors; those of the disk carry a code. */
function isDecodeError(error: unknown): boolean {
  return error instanceof Error && !('code' in error)
}
