import type { ImageMimeType } from '../models/models.ts'
import type { ImageVariant } from '../tasks/imageVariant.ts'
import { variantName } from '../tasks/imageVariant.ts'
import type { NativeResponse } from './nativeResponse.ts'

/**
 * The content of `meta.json`, which is stored next to the image. It appears only after the image and is never
 * overwritten, so it exists only when the answer is complete. It contains everything that settling needs.
 */
export type AnswerMeta = {
  readonly version: 1
  readonly taskId: string
  readonly attempt: number
  readonly image: {
    readonly mimeType: ImageMimeType
    /** In pixels. 0: not known. Absent in answers that an earlier version has stored. */
    readonly width?: number
    readonly height?: number
    readonly bytes: number
    readonly sha256: string
  }
  /** The image as the upstream sent it, where the one above was converted from it. */
  readonly original?: {
    readonly mimeType: ImageMimeType
    readonly bytes: number
    readonly sha256: string
  }
  readonly native: NativeResponse
}

/**
 * Returns a side of the image of a `meta.json`, or `undefined` when it is not known. The file is read without a check, and
 * a strange number must not keep an image that is paid for from its client.
 */
export function knownSide(side: unknown): number | undefined {
  const isKnown = typeof side === 'number' && Number.isInteger(side) && side > 0 && side < 2 ** 31
  return isKnown ? side : undefined
}

/** Returns the blob key of an answer's image. Each attempt has its own random `answerId`. */
export function answerImageKey(answerId: string): string {
  return `${answerId}/image`
}
export function answerOriginalKey(answerId: string): string {
  return `${answerId}/original`
}
/** A variant has the prefix of its image, so it is deleted with it. */
export function answerVariantKey(answerId: string, variant: ImageVariant): string {
  return `${answerId}/${variantName(variant)}`
}
export function answerMetaKey(answerId: string): string {
  return `${answerId}/meta.json`
}
