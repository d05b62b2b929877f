import type { Action } from '../../domain/models.ts'
import type { Result } from '../../domain/result.ts'
import { fail } from '../../domain/result.ts'

/** What the vendor understood of a request. */
export type ImageOrder = OrderA | OrderB

type OrderBase = {
  readonly action: Action
  readonly model: string
  readonly prompt: string
  readonly sources: readonly SourceImage[]
  /** Pixels of each image. */
  readonly width: number
  readonly height: number
  readonly format: ImageFormat
  /** The number of images that a plain answer contains. */
  readonly count: number
}

export type OrderA = OrderBase & {
  readonly family: 'A'
  /** The vendor's `imageSize`, such as `2K`. */
  readonly tier: string
  /** The answer contains a text part before the image. */
  readonly withText: boolean
  readonly seed?: number
}

export type OrderB = OrderBase & {
  readonly family: 'B'
  readonly quality: 'low' | 'medium' | 'high'
  readonly background: string
  /** `output_compression`, 0 to 100: the quality of JPEG and WebP. */
  readonly compression: number
}

export type ImageFormat = 'png' | 'jpeg' | 'webp'

export type PixelSize = { readonly width: number; readonly height: number }

/** A source image of an edit. */
export type SourceImage = {
  /** The type of the bytes, which may differ from the declared type. */
  readonly mimeType: string
  readonly sha256: string
  readonly sizeBytes: number
  /** Only the first source keeps its bytes: it is drawn, and edits of 64 MiB stay cheap. */
  readonly bytes?: Buffer
}

/** A request that the vendor refuses. Each family writes it in its own error format. */
export type Problem = {
  readonly status: number
  readonly message: string
  readonly param?: string | null
  readonly code?: string
}

/** A request as an order, or why the vendor refuses it. */
export type OrderRead = Result<ImageOrder, Problem>

/** A refusal. `more` names the parameter and the code for family B. */
export function refuse(
  status: number,
  message: string,
  more: Pick<Problem, 'param' | 'code'> = {},
): { readonly ok: false; readonly failure: Problem } {
  return fail({ status, message, ...more })
}

const charactersPerToken = 4

/** A plausible number of tokens of a text. */
export function textTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / charactersPerToken))
}

const signatures: readonly (readonly [string, RegExp])[] = [
  ['image/png', /^89504e470d0a1a0a/],
  ['image/jpeg', /^ffd8ff/],
  ['image/webp', /^52494646.{8}57454250/],
]

/** The image type by the first twelve bytes; undefined for types that the vendors do not accept. */
export function sniffImage(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('hex')
  return signatures.find(([, signature]) => signature.test(head))?.[0]
}
