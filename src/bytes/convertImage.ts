import sharp from 'sharp'
import { outputImagePixelsMax } from '../domain/limits.ts'
import type { FoundBlob } from '../domain/ports/blobStore.ts'
import type { ImageVariant } from '../domain/tasks/imageVariant.ts'
import { freeMemory } from './freeMemory.ts'

// An image takes one of the four threads that Node has for files, and no further one. Nothing is converted twice, so
// libvips keeps nothing.
sharp.concurrency(1)
sharp.cache(false)

const convertSecondsMax = 60

type ConvertedImage = {
  readonly width: number
  readonly height: number
  readonly bytes: Buffer
}

/**
 * Converts an image, or the file at a path, turned as it says and never enlarged. It has no metadata, and is on white
 * where the format has no transparency. Returns `undefined` when the image cannot be read or decoded or is too large for
 * the format, takes more than a minute, or has more than `outputImagePixelsMax` pixels.
 */
export async function convertImage(
  image: Uint8Array | string,
  { mimeType, width }: ImageVariant,
): Promise<ConvertedImage | undefined> {
  try {
    const decoder = sharp(image, { limitInputPixels: outputImagePixelsMax, failOn: 'error' })
    const turned = decoder.autoOrient().timeout({ seconds: convertSecondsMax })
    const sized = width === undefined ? turned : turned.resize({ width, withoutEnlargement: true })
    const encoder = (
      mimeType === 'image/jpeg' ? sized.flatten({ background: 'white' }) : sized
    ).toFormat(formats[mimeType])
    const { data: bytes, info } = await encoder.toBuffer({ resolveWithObject: true })
    return { width: info.width, height: info.height, bytes }
  } catch {
    return undefined
  }
}

const formats = { 'image/png': 'png', 'image/jpeg': 'jpeg', 'image/webp': 'webp' } as const

/** Converts a stored image, and closes it. Returns `undefined` as `convertImage` does. Rejects when it cannot be read. */
export async function convertBlob(
  { bytes, content, path, close }: FoundBlob,
  variant: ImageVariant,
): Promise<Uint8Array | undefined> {
  try {
    // The thread that converts reads a file itself, which is quicker and keeps the event loop free. If it fails, the
    // file is read here, which rejects when it is gone, and else shows whether it is an image.
    const ofFile = path === undefined ? undefined : await convertImage(path, variant)
    return ofFile?.bytes ?? (await convertContent(content, bytes, variant))
  } finally {
    close()
  }
}

async function convertContent(
  content: FoundBlob['content'],
  bytes: number,
  variant: ImageVariant,
): Promise<Uint8Array | undefined> {
  const image = Buffer.allocUnsafeSlow(bytes)
  try {
    let at = 0
    for await (const piece of content) {
      image.set(piece, at)
      at += piece.length
    }
    return (await convertImage(image, variant))?.bytes
  } finally {
    freeMemory(image)
  }
}
