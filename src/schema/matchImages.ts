import type { InputImage, ReceivedImage } from '../domain/imageRequest.ts'
import type { ImageMimeType } from '../domain/models.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { invalidImage, notAnImage, paramPath } from './requestFailures.ts'

export type DeclaredImage = {
  /** Where its data is in the document, in the casing of the client. */
  readonly path: readonly PropertyKey[]
  readonly mimeType: ImageMimeType
}

/** Finds the stored bytes of each declared image. The bytes must be of the declared type. */
export function matchImages(
  declared: readonly DeclaredImage[],
  received: readonly ReceivedImage[],
): Result<readonly InputImage[], RequestFailure> {
  const byPath = new Map(received.map((image) => [paramPath(image.path), image]))
  const inputs: InputImage[] = []
  for (const { path, mimeType } of declared) {
    const param = paramPath(path)
    const image = byPath.get(param)
    if (image === undefined) throw new Error('Bug: image data that was not received')
    const { blobKey, bytes, sha256, sniffedType } = image
    if (sniffedType !== mimeType) {
      const why = `the data is ${sniffedType}, which is not the declared type`
      return fail(invalidImage(param, sniffedType === undefined ? notAnImage : why))
    }
    inputs.push({ blobKey, mimeType, bytes, sha256 })
  }
  return succeed(inputs)
}
