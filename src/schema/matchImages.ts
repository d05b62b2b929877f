import type { InputImage, ReceivedImage } from '../domain/imageRequest.ts'
import type { ImageMimeType } from '../domain/models.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import { paramPath } from './requestFailures.ts'

export type DeclaredImage = {
  /** Where its data stands in the document, in the client's own casing. */
  readonly path: readonly PropertyKey[]
  readonly mimeType: ImageMimeType
}

/** Spec, Input image object: the declared type must match the actual decoded bytes. */
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
      return fail(invalidRequest('invalid_image', param, mismatch(param, sniffedType)))
    }
    inputs.push({ blobKey, mimeType, bytes, sha256 })
  }
  return succeed(inputs)
}

function mismatch(param: string, sniffedType: ImageMimeType | undefined): string {
  return sniffedType === undefined
    ? `Invalid image in '${param}': the bytes are not a whole PNG, JPEG or WebP image.`
    : `Invalid image in '${param}': the bytes are ${sniffedType}, which is not the declared type.`
}
