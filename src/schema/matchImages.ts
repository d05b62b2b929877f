import type { RequestFailure } from '../domain/failure.ts'
import type { ImageMimeType } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ReceivedImage, UnstoredImage } from '../domain/tasks/imageRequest.ts'
import { invalidImage, notAnImage, paramPath } from './requestFailures.ts'

export type DeclaredImage = {
  /** Where the data of the image is in the document, in the client's casing. */
  readonly path: readonly PropertyKey[]
  readonly mimeType: ImageMimeType
}

/** Finds the bytes of each declared image. Fails when the bytes are not of the declared type. */
export function matchImages(
  declared: readonly DeclaredImage[],
  received: readonly ReceivedImage[],
): Result<readonly UnstoredImage[], RequestFailure> {
  const byPath = new Map(received.map((image) => [paramPath(image.path), image]))
  const inputs: UnstoredImage[] = []
  for (const { path, mimeType } of declared) {
    const param = paramPath(path)
    const image = byPath.get(param)
    if (image === undefined) throw new Error('Bug: image data that was not received')
    const { content, sniffedType } = image
    if (sniffedType !== mimeType) {
      const why = `the data is ${sniffedType}, which is not the declared type`
      return fail(invalidImage(param, sniffedType === undefined ? notAnImage : why))
    }
    inputs.push({ mimeType, content })
  }
  return succeed(inputs)
}
