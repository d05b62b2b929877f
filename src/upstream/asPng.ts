import { convertImage } from '../bytes/convertImage.ts'
import type { AnswerImage } from './answerPictures.ts'

/**
 * Returns the image as PNG: itself, or a converted copy with the original when the upstream sent another format. Returns
 * `undefined` when it cannot be converted. Few images are converted at once, one in each thread of Node, so their pixels
 * need no limit of their own.
 */
export async function asPng(image: AnswerImage): Promise<AnswerImage | undefined> {
  const mimeType = 'image/png'
  if (image.mimeType === mimeType) return image
  const png = await convertImage(image.bytes, { mimeType })
  return png && { ...png, mimeType, original: { mimeType: image.mimeType, bytes: image.bytes } }
}
