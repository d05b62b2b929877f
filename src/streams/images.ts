import type { ImageMimeType } from '../domain/models/models.ts'
import { createWholeImageCheck } from './images/wholeImage.ts'

export type WholeImage = { mimeType: ImageMimeType; width: number; height: number }

/** A stand-in until the branch of the streams is merged. */
export function wholeImage(bytes: Uint8Array): WholeImage | undefined {
  const check = createWholeImageCheck()
  check.push(bytes)
  return check.finish()
}
