import type { ImageMimeType } from '../domain/models.ts'

export type SniffedImage = {
  readonly mimeType: ImageMimeType
  readonly width: number
  readonly height: number
}

/**
 * What a walk over the structure of an image asks of the bytes that are streaming by:
 * `take` the next few bytes, `skip` some, or the next JPEG `marker` (its second byte).
 */
export type WalkRequest =
  | { readonly kind: 'take'; readonly bytes: number }
  | { readonly kind: 'skip'; readonly bytes: number }
  | { readonly kind: 'marker' }

/** Receives what it asked for (nothing after `skip`); `undefined`: no whole image of the format. */
export type ImageWalk = Generator<WalkRequest, SniffedImage | undefined, Buffer>

/** Chunks or segments of one image: an encoder makes thousands at most, an attacker millions. */
export const imagePartsMax = 100_000

export function* take(bytes: number): Generator<WalkRequest, Buffer, Buffer> {
  return yield { kind: 'take', bytes }
}

export function* skip(bytes: number): Generator<WalkRequest, void, Buffer> {
  yield { kind: 'skip', bytes }
}

export function* nextMarker(): Generator<WalkRequest, number, Buffer> {
  const found = yield { kind: 'marker' }
  return found.readUInt8(0)
}
