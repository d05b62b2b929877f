import { z } from 'zod'
import type { Form } from './familyBForm.ts'
import { type OrderRead, type Problem, problem, type SourceImage } from './imageOrder.ts'
import { parsePixelSize, type PixelSize } from './imageSizes.ts'

export type ReadOptionsB = { readonly vendorLimits: boolean }

const promptCharactersMax = 32_000
const imagesMax = 16
const imageTypes = ['image/png', 'image/jpeg', 'image/webp']
const defaultSize: PixelSize = { width: 1024, height: 1024 }

/** research/wire.md section 2, Generations JSON; the form of an edit carries the same as text. */
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

/** Checks a generations body, `undefined` when it was not JSON. */
export function readGeneration(body: unknown, options: ReadOptionsB): OrderRead {
  return readRequest('generate', body, [], options)
}

/** Checks an edits form: numbers come as text, images as `image` or `image[]`, a mask may be beside them. */
export function readEdit(form: Form, options: ReadOptionsB): OrderRead {
  const images = form.files.filter(({ field }) => field === 'image' || field === 'image[]')
  const stranger = form.files.find((file) => !images.includes(file) && file.field !== 'mask')
  if (stranger !== undefined) return unknownParameter(stranger.field)
  if (images.length === 0) {
    const code = 'missing_required_parameter'
    return problem(400, "Missing required parameter: 'image'.", { param: 'image', code })
  }
  if (images.length > imagesMax) {
    const message = `Invalid 'image': array too long. Expected at most ${imagesMax}, got ${images.length}.`
    return problem(400, message, { param: 'image', code: 'array_above_max_length' })
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
  return readRequest('edit', Object.fromEntries(fields), sources, options)
}

function readRequest(
  action: 'generate' | 'edit',
  body: unknown,
  sources: readonly SourceImage[],
  options: ReadOptionsB,
): OrderRead {
  const parsed = requestSchema.safeParse(body)
  if (!parsed.success) return { ok: false, problem: problemOf(parsed.error) }
  const request = parsed.data
  if (options.vendorLimits && request.prompt.length > promptCharactersMax) {
    const message = `Invalid 'prompt': string too long. Expected at most ${promptCharactersMax}.`
    return problem(400, message, { param: 'prompt', code: 'string_above_max_length' })
  }
  const { size = 'auto', quality = 'auto', background = 'auto' } = request
  const pixels = size === 'auto' ? defaultSize : parsePixelSize(size)
  if (pixels === null) {
    const message = `Invalid size '${size}'. Sides must be multiples of 16 within the limits.`
    return problem(400, message, { param: 'size' })
  }
  return {
    ok: true,
    order: {
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
    },
  }
}

function problemOf(error: z.ZodError): Problem {
  const [issue] = error.issues
  const param = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const name = issue.keys[0] ?? ''
    const message = `Unknown parameter: '${name}'.`
    return { status: 400, message, param: name, code: 'unknown_parameter' }
  }
  if (param === '') {
    return { status: 400, message: 'We could not parse the JSON body of your request.' }
  }
  return { status: 400, message: `Invalid '${param}': ${issue?.message ?? ''}`, param }
}

function unknownParameter(name: string): OrderRead {
  return problem(400, `Unknown parameter: '${name}'.`, { param: name, code: 'unknown_parameter' })
}

function badImage(message: string): OrderRead {
  return problem(400, message, { param: 'image', code: 'invalid_image_file' })
}
