import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { InputImage } from '../domain/tasks/imageRequest.ts'
import { base64Length, encodeBase64 } from '../streams/base64.ts'

/** A piece of a request body. An image is read from the blob store while the body is sent. */
export type BodyPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'base64'; readonly input: InputImage }
  | { readonly kind: 'raw'; readonly input: InputImage }

export type RequestBody = {
  readonly contentType: string
  /** The length of the body, for the Content-Length header. */
  readonly bytes: number
  /** Yields the bytes of the body. Throws when an input image cannot be read completely. */
  readonly open: () => AsyncGenerator<Uint8Array>
}

/**
 * Makes the body of a request from its pieces. The length of the body is known before any image is read.
 * While the body is sent, only one chunk of one image is in memory at a time.
 */
export function requestBody(
  contentType: string,
  pieces: readonly BodyPiece[],
  blobs: BlobStore,
): RequestBody {
  const parts = pieces.map((piece) =>
    piece.kind === 'text' ? { kind: piece.kind, bytes: Buffer.from(piece.text) } : piece,
  )
  let bytes = 0
  for (const part of parts) {
    if (part.kind === 'text') bytes += part.bytes.length
    else bytes += part.kind === 'raw' ? part.input.bytes : base64Length(part.input.bytes)
  }
  const open = async function* (): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      if (part.kind === 'text') yield part.bytes
      else if (part.kind === 'raw') yield* inputBytes(part.input, blobs)
      else yield* encodeBase64(inputBytes(part.input, blobs))
    }
  }
  return { contentType, bytes, open }
}

async function* inputBytes(input: InputImage, blobs: BlobStore): AsyncGenerator<Uint8Array> {
  const blob = await blobs.read(input.blobKey)
  // If the image had another length, the request would not match the Content-Length that is already sent.
  if (blob?.bytes !== input.bytes) throw new Error('An input image is not in the blob store')
  yield* blob.content
}
