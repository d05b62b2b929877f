import { z } from 'zod'
import { allQualities } from '../../domain/models/models.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { OrderRead, SourceImage } from './order.ts'
import { sourceOf } from './order.ts'

/**
 * The fields of a generation (OpenAI API reference). An edit sends the same fields as text parts of a form.
 */
const requestSchema = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).default(1),
  size: z.string().default('auto'),
  quality: z.enum(allQualities).default('auto'),
  background: z.enum(['transparent', 'opaque', 'auto']).default('auto'),
  output_format: z.enum(['png', 'jpeg', 'webp']).default('png'),
  output_compression: z.int().min(0).max(100).default(100),
  moderation: z.enum(['low', 'auto']).optional(),
  user: z.string().optional(),
  safety_identifier: z.string().optional(),
})

const numberFields = new Set(['n', 'output_compression'])
const imagesMax = 16
/** Plausible numbers of tokens, the same for every prompt, size and quality. */
const [inputTokens, imageTokens] = [10, 1756]

/**
 * Checks a generation, or an edit with its images, as the vendor does. `body` is `undefined` when the body is not
 * JSON.
 */
export function readOrderB(body: unknown, sources: readonly SourceImage[] = []): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return fail(z.prettifyError(parsed.error))
  const { model, prompt, n: count, output_format: format } = parsed.data
  const { size, quality, background, output_compression: compression } = parsed.data
  const pixels = parsePixelSize(size === 'auto' ? '1024x1024' : size)
  if (pixels === undefined) {
    return fail(`Invalid size '${size}'. Sides must be multiples of 16 within the limits.`)
  }
  return succeed({
    family: 'B',
    action: sources.length > 0 ? 'edit' : 'generate',
    model,
    prompt,
    sources,
    ...pixels,
    format,
    compression,
    variant: quality,
    count,
    /** Returns an ImagesResponse (OpenAI API reference). */
    answer: (images, fault, url) => {
      const created = Math.floor(Date.now() / 1000)
      if (fault?.kind === 'zero' && fault.form === 'absent') return { created }
      const output = images.length * imageTokens
      return {
        created,
        background: background === 'auto' ? 'opaque' : background,
        data: fault?.kind === 'url' ? [{ url }] : images.map(({ data }) => ({ b64_json: data })),
        output_format: format,
        quality: quality === 'auto' ? 'medium' : quality,
        size: `${pixels.width}x${pixels.height}`,
        usage: {
          total_tokens: inputTokens + output,
          input_tokens: inputTokens,
          output_tokens: output,
          input_tokens_details: { text_tokens: inputTokens, image_tokens: 0 },
          output_tokens_details: { text_tokens: 0, image_tokens: output },
        },
      }
    },
  })
}

/**
 * Checks the form of an edit as the vendor does. The images are in `image` or `image[]`; a mask is optional.
 */
export async function readEdit(form: FormData): Promise<OrderRead> {
  const images = [...form].flatMap(([name, value]) =>
    /^image(\[\])?$/.test(name) && typeof value !== 'string' ? value : [],
  )
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
  const fields = [...form]
    .filter(([name]) => !/^(image(\[\])?|mask)$/.test(name))
    .map(([name, value]) => [name, numberFields.has(name) ? Number(value) : value])
  return readOrderB(Object.fromEntries(fields), sources)
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
