import type { RequestFailure } from '../domain/failure.ts'
import type { ImageMimeType } from '../domain/models/models.ts'
import { invalidImage, paramPath } from '../domain/requestFailures.ts'
import type { ReceivedImage } from '../domain/tasks/imageRequest.ts'

/**
 * Checks the images of a request. `declared` are their types as the valid document says them, in its order, which is
 * also that of `images`. Returns the failure for the first one whose bytes are of another type.
 */
export function wrongImage(
  declared: readonly (ImageMimeType | undefined)[],
  images: readonly ReceivedImage[],
): RequestFailure | undefined {
  const wrong = images.find(({ mimeType }, i) => mimeType !== declared[i])
  const why = `the data is ${wrong?.mimeType}, which is not the declared type`
  return wrong && invalidImage(paramPath(wrong.path), why)
}
