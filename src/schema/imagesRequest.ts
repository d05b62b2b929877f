import { z } from 'zod'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ReceivedImage, UnstoredRequest } from '../domain/tasks/imageRequest.ts'
import { modelField, qualityField, sizeField } from './modelFields.ts'
import { parseBody } from './parseFields.ts'
import { invalidValue, missingParameter } from '../domain/requestFailures.ts'

/** The request, and whether its client asks for a stream, which is no part of it. */
type ParsedImages = { readonly request: UnstoredRequest; readonly isStreamed: boolean }

/** Validates the body of `POST /v1/images/generations`. */
export function parseGenerationsRequest(document: unknown): Result<ParsedImages, RequestFailure> {
  const parsed = parseBody(generationsRequest, document)
  if (!parsed.ok) return parsed
  const { stream: isStreamed = false, partial_images: partials = 0 } = parsed.value
  if (partials > 0 && !isStreamed) return fail(partialsWithoutStream)
  const common = commonOf(parsed.value)
  return succeed({
    request: { ...common, route: 'images.generations', action: 'generate', inputs: [] },
    isStreamed,
  })
}

/**
 * Validates the form of `POST /v1/images/edits`. `image` is `undefined` when the form has no image. The type
 * of the image comes from its bytes, because clients often declare a wrong type or none.
 */
export function parseEditsRequest(
  fields: Readonly<Record<string, string>>,
  image: ReceivedImage | undefined,
): Result<ParsedImages, RequestFailure> {
  const parsed = parseBody(editsFields, fields)
  if (!parsed.ok) return parsed
  const { stream, partial_images: partials = '0' } = parsed.value
  const isStreamed = stream === 'true'
  if (partials !== '0' && !isStreamed) return fail(partialsWithoutStream)
  if (image === undefined) return fail(missingParameter('image'))
  const common = commonOf(parsed.value)
  return succeed({
    request: { ...common, route: 'images.edits', action: 'edit', inputs: [image] },
    isStreamed,
  })
}

const partialsWithoutStream = invalidValue('partial_images', 'must be 0 or absent without a stream')

type CommonField = 'model' | 'prompt' | 'size' | 'quality'

type Common = Pick<UnstoredRequest, 'model' | 'size' | 'quality' | 'body'>

/** The fields with a meaning. All others say what Darkroom does anyway, and are in no fingerprint. */
function commonOf(request: Pick<z.infer<typeof generationsRequest>, CommonField>): Common {
  const { model, prompt, size: given, quality } = request
  const size = given === 'auto' ? undefined : given
  return {
    model,
    ...defined({ size, quality }),
    body: { kind: 'prompt', prompt },
  }
}

/** Limit for `user`, in bytes of UTF-8. */
const userBytesMax = 512

/**
 * Fields that clients of OpenAI's images API always send. Each is accepted with the value that says what
 * Darkroom does anyway. `user` is neither stored nor sent upstream.
 */
const fieldsOfClients = {
  response_format: onlyValue(
    'b64_json',
    'the answer contains the image; a task made at /v1/images/tasks has the address of its image',
  ),
  output_format: onlyValue('png', 'images are PNG'),
  background: onlyValue('auto', 'the model decides about the background'),
  moderation: onlyValue('auto', 'the model decides about moderation'),
  user: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= userBytesMax, `at most ${userBytesMax} bytes`)
    .optional()
    .meta({ description: 'Has no effect.' }),
}

/** An optional field with one allowed value. The error names that value and says `why` there is no other. */
function onlyValue<Value extends string>(value: Value, why: string) {
  const error = `must be ${JSON.stringify(value)} or absent, because ${why}`
  return z
    .literal(value, { error })
    .optional()
    .meta({ description: `Only ${value}: ${why}.` })
}

const shared = {
  model: modelField('B'),
  prompt: z.string().min(1),
  size: sizeField('B', ['auto']).optional().meta({ description: '`auto` is as good as no size.' }),
  quality: qualityField().optional(),
  ...fieldsOfClients,
}

const aboutStream = { description: 'Answers with server-sent events.' }
const aboutPartials = { description: 'Only 0 without a stream. No partial images are sent.' }

/** The body of `POST /v1/images/generations`. */
export const generationsRequest = z
  .strictObject({
    ...shared,
    n: z.literal(1).optional(),
    stream: z.boolean().optional().meta(aboutStream),
    partial_images: z.int().min(0).max(3).optional().meta(aboutPartials),
  })
  .meta({
    id: 'GenerationsRequest',
    example: {
      model: 'familyb-image-2-vip',
      prompt: 'A lighthouse at dusk',
      size: '1024x1024',
    },
  })

/** The text fields of the form. Every value of a form is text. */
export const editsFields = z.strictObject({
  ...shared,
  n: z.literal('1').optional(),
  stream: z.enum(['true', 'false']).optional().meta(aboutStream),
  partial_images: z.enum(['0', '1', '2', '3']).optional().meta(aboutPartials),
})

/** The whole form of `POST /v1/images/edits`, for the description. */
export const editsForm = editsFields
  .extend({
    image: z.string().meta({
      description:
        'A PNG, JPEG or WebP file. Its type is read from its bytes. The part may be named `image[]` too.',
      format: 'binary',
    }),
  })
  .meta({ id: 'EditsForm' })
