import { z } from 'zod'
import type { Action } from '../../domain/models/models.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { EncodedImage } from './drawImage.ts'
import type { AnswerFault } from './faults.ts'
import type { OrderB, OrderRead, SourceImage } from './order.ts'
import { sourceOf } from './order.ts'

/**
 * The fields of a generation (OpenAI API reference). An edit sends the same fields as text parts of a form.
 */
const requestSchema = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).optional(),
  size: z.string().optional(),
  quality: z.enum(['low', 'medium', 'high', 'auto']).optional(),
  background: z.enum(['transparent', 'opaque', 'auto']).optional(),
  output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
  output_compression: z.int().min(0).max(100).optional(),
  moderation: z.enum(['low', 'auto']).optional(),
  user: z.string().optional(),
  safety_identifier: z.string().optional(),
})

/** Checks the body of a generation as the vendor does. `body` is `undefined` when the body is not JSON. */
export function readGeneration(body: unknown): OrderRead {
  return readRequest('generate', body, [])
}

const numberFields = new Set(['n', 'output_compression'])
const imagesMax = 16

/**
 * Checks the form of an edit as the vendor does. The images are in `image` or `image[]`; a mask is optional.
 */
export async function readEdit(form: FormData): Promise<OrderRead> {
  const fields: [string, unknown][] = []
  const images: File[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      fields.push([name, numberFields.has(name) ? Number(value) : value])
    } else if (name === 'image' || name === 'image[]') {
      images.push(value)
    } else if (name !== 'mask') {
      return fail(`Unknown parameter: '${name}'.`)
    }
  }
  if (images.length === 0) return fail("Missing required parameter: 'image'.")
  if (images.length > imagesMax) {
    return fail(
      `Invalid 'image': array too long. Expected at most ${imagesMax}, got ${images.length}.`,
    )
  }
  const sources: SourceImage[] = []
  for (const image of images) {
    const bytes = Buffer.from(await image.arrayBuffer())
    const source = sourceOf(image.type, bytes, sources.length === 0)
    if (source === undefined) return fail('The image file could not be read.')
    sources.push(source)
  }
  return readRequest('edit', Object.fromEntries(fields), sources)
}

function readRequest(action: Action, body: unknown, sources: readonly SourceImage[]): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return fail(z.prettifyError(parsed.error))
  const request = parsed.data
  const { size = 'auto', quality = 'auto', background = 'auto' } = request
  const pixels = parsePixelSize(size === 'auto' ? '1024x1024' : size)
  if (pixels === undefined) {
    return fail(`Invalid size '${size}'. Sides must be multiples of 16 within the limits.`)
  }
  return succeed({
    family: 'B',
    action,
    model: request.model,
    prompt: request.prompt,
    sources,
    ...pixels,
    format: request.output_format ?? 'png',
    count: request.n ?? 1,
    quality: quality === 'auto' ? 'medium' : quality,
    background: background === 'auto' ? 'opaque' : background,
    compression: request.output_compression ?? 100,
  })
}

const sideMultiple = 16
const pixelsMin = 655_360
const pixelsMax = 8_294_400

/** Reads `WIDTHxHEIGHT`. Returns `undefined` when the vendor does not accept the size. */
function parsePixelSize(
  text: string,
): { readonly width: number; readonly height: number } | undefined {
  const [, width = 0, height = 0] = (/^(\d{2,4})x(\d{2,4})$/.exec(text) ?? []).map(Number)
  const isMultiple = width % sideMultiple === 0 && height % sideMultiple === 0
  const pixels = width * height
  return isMultiple && pixels >= pixelsMin && pixels <= pixelsMax ? { width, height } : undefined
}

type Json = Readonly<Record<string, unknown>>

/** Plausible numbers of tokens, the same for every prompt, size and quality. */
const [inputTokens, imageTokens] = [10, 1756]

/** Returns an ImagesResponse (OpenAI API reference). `images` is empty when the model made no image. */
export function answerB(
  order: OrderB,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  imageUrl: string,
): Json {
  const created = Math.floor(Date.now() / 1000)
  const output = images.length * imageTokens
  if (fault?.kind === 'zero' && fault.form === 'absent') return { created }
  const data =
    fault?.kind === 'url' ? [{ url: imageUrl }] : images.map((image) => ({ b64_json: image.data }))
  return {
    created,
    background: order.background,
    data,
    output_format: order.format,
    quality: order.quality,
    size: `${order.width}x${order.height}`,
    usage: {
      total_tokens: inputTokens + output,
      input_tokens: inputTokens,
      output_tokens: output,
      input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
      output_tokens_details: { text_tokens: 0, image_tokens: output },
    },
  }
}
