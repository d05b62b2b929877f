import type { Action, Family } from '../../domain/models/models.ts'
import type { Result } from '../../domain/result.ts'
import type { LoggedImage } from './calls.ts'
import { digestOf } from './calls.ts'
import type { AnswerFault } from './faults.ts'

/** What the vendor understood of a request. */
export type ImageOrder = {
  readonly family: Family
  readonly action: Action
  readonly model: string
  readonly prompt: string
  readonly sources: readonly SourceImage[]
  /** The width and height of each image, in pixels. */
  readonly width: number
  readonly height: number
  readonly format: 'png' | 'jpeg' | 'webp'
  /** The quality of JPEG and WebP, from 0 to 100. */
  readonly compression: number
  /** What else makes the picture another one: the seed of family A, or the quality of family B. */
  readonly variant: string | number | undefined
  /** The number of images in the answer when no fault changes it. */
  readonly count: number
  /**
   * Returns the JSON of the answer. `images` is empty when the model made no image. `imageUrl` is where the fault `url`
   * leads.
   */
  readonly answer: (
    images: readonly EncodedImage[],
    fault: AnswerFault | undefined,
    imageUrl: string,
  ) => object
}

/** An image in an answer. `data` is base64, except when a fault damages it. */
export type EncodedImage = { readonly mimeType: string; readonly data: string }

/** A source image of an edit. */
export type SourceImage = LoggedImage & {
  /** Only the first source keeps its content, because only that one is drawn. */
  readonly content?: Buffer
}

/** The order that a request contains, or the vendor's reason to answer with 400. */
export type OrderRead = Result<ImageOrder, string>

/** How images of the types that the vendors accept begin, in hexadecimal. */
const signatures: Readonly<Record<string, RegExp>> = {
  'image/png': /^89504e470d0a1a0a/,
  'image/jpeg': /^ffd8ff/,
  'image/webp': /^52494646.{8}57454250/,
}

/** Describes a source image, or returns `undefined` when its bytes are not of the declared type. */
export function sourceOf(
  mimeType: string,
  content: Buffer,
  isFirst: boolean,
): SourceImage | undefined {
  const head = content.toString('hex', 0, 12)
  if (signatures[mimeType]?.test(head) !== true) return undefined
  const image = { mimeType, sha256: digestOf(content), bytes: content.length }
  return isFirst ? { ...image, content } : image
}
