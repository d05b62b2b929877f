import { defined } from '../defined.ts'
import type { ImageMimeType } from '../models/models.ts'

/** A smaller image, in the same format or another. Without a width it is as large as the original. */
export type ImageVariant = {
  /** In pixels, at most. */
  readonly width?: number
  readonly mimeType: ImageMimeType
}

/** What is asked for: a width in pixels and a format, or one of them. */
export type AskedVariant = {
  readonly width?: string | undefined
  readonly format?: 'png' | 'jpeg' | 'webp' | undefined
}

/** Returns the variant of an image of this type. A format that is not given is that of the image. */
export function variantOf({ width, format }: AskedVariant, imageType: ImageMimeType): ImageVariant {
  const mimeType = format === undefined ? imageType : (`image/${format}` as const)
  return { mimeType, ...defined({ width: width === undefined ? width : Number(width) }) }
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
