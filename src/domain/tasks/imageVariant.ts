import type { ImageMimeType } from '../models/models.ts'

/** A smaller image, in the same format or another. Without a width it is as large as the original. */
export type ImageVariant = {
  /** In pixels, at most. */
  readonly width?: number
  readonly mimeType: ImageMimeType
}

/** How the name of a file ends. */
export const fileExtensions: Readonly<Record<ImageMimeType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}

/** Returns the name of a variant among those of its image, such as `512.webp`. */
export function variantName({ width, mimeType }: ImageVariant): string {
  return `${width ?? 'full'}.${fileExtensions[mimeType]}`
}
