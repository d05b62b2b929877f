import type { ImageMimeType } from './models.ts'
import type { NativeResponse } from './nativeResponse.ts'

/**
 * The content of `meta.json`, next to the stored image. It is written last and create-only, so its presence
 * means that the answer is stored completely. It contains all that settling needs.
 */
export type AnswerMeta = {
  readonly version: 1
  readonly taskId: string
  readonly attempt: number
  readonly image: {
    readonly mimeType: ImageMimeType
    readonly bytes: number
    readonly sha256: string
    readonly width: number
    readonly height: number
  }
  readonly native: NativeResponse
}

/** The blob keys of one answer. Each attempt has its own random `answerId`. */
export function answerImageKey(answerId: string): string {
  return `${answerId}/image`
}
export function answerMetaKey(answerId: string): string {
  return `${answerId}/meta.json`
}
