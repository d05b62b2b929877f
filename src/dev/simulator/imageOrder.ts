import type { Action } from '../../domain/models.ts'

/** A source image as it arrived. `bytes` is null when it is not among those that will be drawn. */
export type SourceImage = {
  readonly mimeType: string
  readonly sha256: string
  readonly size: number
  readonly bytes: Buffer | null
}

export type ImageFormat = 'png' | 'jpeg' | 'webp'

type OrderBase = {
  readonly action: Action
  readonly model: string
  readonly prompt: string
  readonly sources: readonly SourceImage[]
  readonly width: number
  readonly height: number
  readonly format: ImageFormat
}

export type OrderA = OrderBase & {
  readonly family: 'A'
  readonly tier: string
  readonly withText: boolean
  readonly withImage: boolean
  readonly seed: number | null
}

export type OrderB = OrderBase & {
  readonly family: 'B'
  readonly count: number
  readonly quality: 'low' | 'medium' | 'high'
  readonly background: string
  readonly compression: number
}

/** What the vendor understood of a call. */
export type ImageOrder = OrderA | OrderB

/** How many source images are shown in the drawn image. */
export const drawnSourcesMax = 4

/** A refusal of the simulator's own: the vendor's validation. Put into the family's error shape later. */
export type Problem = {
  readonly status: number
  readonly message: string
  readonly param?: string | null
  readonly code?: string
}

export type OrderRead =
  | { readonly ok: true; readonly order: ImageOrder }
  | { readonly ok: false; readonly problem: Problem }

export function problem(status: number, message: string, more: Partial<Problem> = {}): OrderRead {
  return { ok: false, problem: { status, message, ...more } }
}
