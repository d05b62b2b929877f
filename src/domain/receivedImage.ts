import type { ImageMimeType } from './models.ts'

/** One image of a request, in the blob store before its request is known to be good. */
export type ReceivedImage = {
  /** Where it stood in the request's document: keys and indices. */
  readonly path: readonly (string | number)[]
  readonly blobKey: string
  readonly bytes: number
  /** Lower-case hex of the decoded bytes. */
  readonly sha256: string
  /** By the bytes themselves; absent: no whole PNG, JPEG or WebP. */
  readonly sniffedType?: ImageMimeType
}
