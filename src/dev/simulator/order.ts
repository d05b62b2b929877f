import type { Action } from '../../domain/models/models.ts'
import type { Result } from '../../domain/result.ts'
import type { LoggedImage } from './calls.ts'
import { digestOf } from './calls.ts'

/** What the vendor understood of a request. */
export type ImageOrder = OrderA | OrderB

type OrderBase = {
  readonly action: Action
  readonly model: string
  readonly prompt: string
  readonly sources: readonly SourceImage[]
  /** The width and height of each image, in pixels. */
  readonly width: number
  readonly height: number
  readonly format: ImageFormat
  /** The number of images in the answer when no fault changes it. */
  readonly count: number
}

export type OrderA = OrderBase & {
  readonly family: 'A'
  /** True when the answer contains a text part before the image. */
  readonly withText: boolean
  readonly seed?: number
}

export type OrderB = OrderBase & {
  readonly family: 'B'
  readonly quality: 'low' | 'medium' | 'high'
  readonly background: string
  /** `output_compression`, from 0 to 100: the quality of JPEG and WebP. */
  readonly compression: number
}

export type ImageFormat = 'png' | 'jpeg' | 'webp'

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
