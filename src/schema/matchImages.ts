import type { RequestFailure } from '../domain/failure.ts'
import type { ImageMimeType } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ReceivedImage, UnstoredImage } from '../domain/tasks/imageRequest.ts'
import { invalidImage, notAnImage, paramPath } from './requestFailures.ts'

/**
 * Returns the images of a request. `declared` are their types as the valid document says them, in its order, which is
 * also that of `received`. Fails when the bytes of an image are not of its declared type.
 */
export function matchImages(
  declared: readonly ImageMimeType[],
  received: readonly ReceivedImage[],
): Result<readonly UnstoredImage[], RequestFailure> {
  const inputs: UnstoredImage[] = []
  for (const [i, mimeType] of declared.entries()) {
    const image = received[i]
    if (image === undefined) throw new Error('Bug: image data that was not received')
    const { path, content, sniffedType } = image
    if (sniffedType !== mimeType) {
      const why = `the data is ${sniffedType}, which is not the declared type`
      return fail(invalidImage(paramPath(path), sniffedType === undefined ? notAnImage : why))
    }
    inputs.push({ mimeType, content })
  }
  return succeed(inputs)
}
