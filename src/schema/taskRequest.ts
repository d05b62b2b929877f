import { z } from 'zod'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { inputImagesMax, inputImagesMin } from '../domain/limits.ts'
import { actions, inputMimeTypes } from '../domain/models/models.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ReceivedImage, UnstoredRequest } from '../domain/tasks/imageRequest.ts'
import { aspectRatioField, modelField, qualityField, sizeField } from './modelFields.ts'
import { wrongImage } from './wrongImage.ts'
import { parseBody } from './parseFields.ts'

/** Checks the form of the body of `POST /v1/images/tasks`. */
export function parseTaskRequest(
  document: unknown,
  images: readonly ReceivedImage[],
): Result<{ readonly request: UnstoredRequest }, RequestFailure> {
  const parsed = parseBody(taskRequest, document)
  if (!parsed.ok) return parsed
  const declared = (parsed.value.input_images ?? []).map(({ mime_type }) => mime_type)
  const wrong = wrongImage(declared, images)
  return wrong === undefined ? succeed({ request: requestOf(parsed.value, images) }) : fail(wrong)
}

/** Returns the request of a valid document. Its images may be described in any way. */
export function requestOf<Input>(
  {
    model,
    action,
    prompt,
    size,
    aspect_ratio,
    quality,
  }: Omit<z.output<typeof taskFields>, 'input_images'>,
  inputs: readonly Input[],
) {
  return {
    route: 'images.tasks',
    model,
    action,
    ...defined({ size, aspectRatio: aspect_ratio, quality }),
    body: { kind: 'prompt', prompt },
    inputs,
  } as const
}

/** Returns whether a path of the document leads to image data. */
export function isTaskImagePath(path: readonly (string | number)[]): boolean {
  return path.length === 3 && path[0] === 'input_images' && path[2] === 'data'
}

export const inputImage = z
  .strictObject({
    mime_type: z.enum(inputMimeTypes).meta({ description: 'The type of the decoded bytes.' }),
    /** In the request this is the image in Base64. Here it is empty, because the data was decoded before. */
    data: z.string().meta({
      contentEncoding: 'base64',
      description: 'Base64 without a data-URL prefix. At most 20 MiB decoded, 64 MiB together.',
    }),
  })
  .meta({ id: 'InputImage' })

export const taskFields = z.strictObject({
  model: modelField(),
  action: z.enum(actions),
  prompt: z.string().min(1),
  input_images: z
    .array(inputImage)
    .min(inputImagesMin)
    .max(inputImagesMax)
    .optional()
    .meta({ description: 'Required when `action` is `edit`, and absent otherwise.' }),
  size: sizeField().optional().meta({
    description: 'As far as the model supports it. Family A: a tier. Family B: a size in pixels.',
  }),
  aspect_ratio: aspectRatioField()
    .optional()
    .meta({ description: 'Family A only, as far as the model supports it.' }),
  quality: qualityField()
    .optional()
    .meta({ description: 'Sent to the upstream for family B. No effect for family A.' }),
  n: z.literal(1).optional().meta({ description: 'One request makes one image.' }),
})

/** The body of `POST /v1/images/tasks`. */
export const taskRequest = taskFields.superRefine(checkRules).meta({
  id: 'TaskRequest',
  example: {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    size: '1024x1024',
    quality: 'medium',
  },
})

type Ruled = Omit<z.infer<typeof taskFields>, 'input_images'> & { readonly input_images?: unknown }

/** Checks the rules that involve several fields. What a model supports is checked later, when the task is accepted. */
export function checkRules(request: Ruled, context: z.RefinementCtx): void {
  for (const [path, message] of crossRules(request)) {
    context.addIssue({ code: 'custom', path: [path], message })
  }
}

function* crossRules(request: Ruled): Generator<readonly [string, string]> {
  const withImages = request.input_images !== undefined
  if (request.action === 'edit' && !withImages) {
    yield ['input_images', 'required when action is edit']
  }
  if (request.action === 'generate' && withImages) {
    yield ['input_images', 'must be omitted when action is generate']
  }
}
