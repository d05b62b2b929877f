import type { ImageMimeType } from './models.ts'
import type { NativeResponse } from './nativeResponse.ts'

/**
 * `meta.json` beside a stored image: written last and create-only, so its presence is the commit mark
 * of a stored answer (design 1.9). Everything that is needed to settle without calling again.
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

/** Blob keys of one answer; `answerId` is random per attempt. */
export function answerImageKey(answerId: string): string {
  return `${answerId}/image`
}
export function answerMetaKey(answerId: string): string {
  return `${answerId}/meta.json`
}
