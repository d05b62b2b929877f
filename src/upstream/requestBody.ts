import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { InputImage } from '../domain/tasks/imageRequest.ts'
import { base64Length, encodeBase64 } from '../bytes/base64.ts'

/** A piece of a request body. An image is read from the blob store while the body is sent. */
export type BodyPiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'base64'; readonly input: InputImage }
  | { readonly kind: 'raw'; readonly input: InputImage }

export type RequestBody = ReturnType<typeof requestBody>

/**
 * Makes the body of a request from its pieces. The length of the body is known before any image is read.
 * While the body is sent, only one chunk of one image and the texts that are not sent yet are in memory. A sent text
 * is dropped, because it may have megabytes and the answer may take minutes. `onSent` is called when no more will be
 * sent.
 */
export function requestBody(
  contentType: string,
  pieces: readonly BodyPiece[],
  blobs: BlobStore,
  onSent: () => void = () => {},
) {
  const unsent = [...pieces]
  const bytes = pieces.reduce((sum, piece) => sum + pieceBytes(piece), 0)
  /** Yields the bytes of the body. Call it once. Throws when an input image cannot be read completely. */
  const open = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (let piece = unsent.shift(); piece !== undefined; piece = unsent.shift()) {
        if (piece.kind === 'text') yield Buffer.from(piece.text)
        else if (piece.kind === 'raw') yield* inputBytes(piece.input, blobs)
        else yield* encodeBase64(inputBytes(piece.input, blobs))
      }
    } finally {
      unsent.length = 0
      onSent()
    }
  }
  return { contentType, bytes, open }
}

function pieceBytes(piece: BodyPiece): number {
  if (piece.kind === 'text') return Buffer.byteLength(piece.text)
  return piece.kind === 'raw' ? piece.input.bytes : base64Length(piece.input.bytes)
}

async function* inputBytes(input: InputImage, blobs: BlobStore): AsyncGenerator<Uint8Array> {
  const blob = await blobs.read(input.blobKey)
  try {
    // If the image had another length, the request would not match the Content-Length that is already sent.
    if (blob?.bytes !== input.bytes) throw new Error('An input image is not in the blob store')
    yield* blob.content
  } finally {
    blob?.close()
  }
}
