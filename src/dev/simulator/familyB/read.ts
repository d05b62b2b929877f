import { z } from 'zod'
import { succeed } from '../../../domain/result.ts'
import type { Form } from './form.ts'
import type { OrderRead, PixelSize, SourceImage } from '../imageOrder.ts'
import { refuse } from '../imageOrder.ts'

const imagesMax = 16
const imageTypes = ['image/png', 'image/jpeg', 'image/webp']
const defaultSize: PixelSize = { width: 1024, height: 1024 }

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

const numberFields = new Set(['n', 'output_compression'])

/** Checks the body of a generation as the vendor does. `body` is `undefined` when the body is not JSON. */
export function readGeneration(body: unknown): OrderRead {
  return readRequest('generate', body, [])
}

/**
 * Checks the form of an edit as the vendor does. The images are in `image` or `image[]`, and a mask is
 * optional.
 */
export function readEdit(form: Form): OrderRead {
  const images = form.files.filter(({ field }) => field === 'image' || field === 'image[]')
  const unknown = form.files.find((file) => !images.includes(file) && file.field !== 'mask')
  if (unknown !== undefined) return unknownParameter(unknown.field)
  if (images.length === 0) {
    const code = 'missing_required_parameter'
    return refuse(400, "Missing required parameter: 'image'.", { param: 'image', code })
  }
  if (images.length > imagesMax) {
    const message = `Invalid 'image': array too long. Expected at most ${imagesMax}, got ${images.length}.`
    return refuse(400, message, { param: 'image', code: 'array_above_max_length' })
  }
  for (const { declaredType, source, tooLarge } of images) {
    if (tooLarge) return badImage("Invalid file 'image': larger than 50 MB.")
    if (!imageTypes.includes(declaredType)) {
      return badImage(`Invalid file 'image': unsupported mimetype ('${declaredType}').`)
    }
    if (source.mimeType !== declaredType) return badImage('The image file could not be read.')
  }
  const fields = form.fields.map(([name, value]) => [
    name,
    numberFields.has(name) ? Number(value) : value,
  ])
  const sources = images.map(({ source }) => source)
  return readRequest('edit', Object.fromEntries(fields), sources)
}

function readRequest(
  action: 'generate' | 'edit',
  body: unknown,
  sources: readonly SourceImage[],
): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return refusalOf(parsed.error)
  const request = parsed.data
  const { size = 'auto', quality = 'auto', background = 'auto' } = request
  const pixels = size === 'auto' ? defaultSize : parsePixelSize(size)
  if (pixels === undefined) {
    const message = `Invalid size '${size}'. Sides must be multiples of 16 within the limits.`
    return refuse(400, message, { param: 'size' })
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
const sideMax = 3840
const sideRatioMax = 3
const pixelsMin = 655_360
const pixelsMax = 8_294_400

/**
 * Reads `WIDTHxHEIGHT` by the vendor's rules. Returns `undefined` when the vendor does not accept the size.
 */
function parsePixelSize(text: string): PixelSize | undefined {
  const match = /^([1-9]\d{1,4})x([1-9]\d{1,4})$/.exec(text)
  if (match === null) return undefined
  const [width, height] = [Number(match[1]), Number(match[2])]
  const pixels = width * height
  const ratio = Math.max(width, height) / Math.min(width, height)
  const sides = [width, height].every((side) => side % sideMultiple === 0 && side <= sideMax)
  const fits = sides && ratio <= sideRatioMax && pixels >= pixelsMin && pixels <= pixelsMax
  return fits ? { width, height } : undefined
}

function refusalOf({ issues: [issue] }: z.ZodError): OrderRead {
  const param = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    return unknownParameter(issue.keys[0] ?? '')
  }
  if (param === '') return refuse(400, 'We could not parse the JSON body of your request.')
  return refuse(400, `Invalid '${param}': ${issue?.message ?? ''}`, { param })
}

function unknownParameter(name: string): OrderRead {
  return refuse(400, `Unknown parameter: '${name}'.`, { param: name, code: 'unknown_parameter' })
}

function badImage(message: string): OrderRead {
  return refuse(400, message, { param: 'image', code: 'invalid_image_file' })
}
