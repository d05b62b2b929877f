import { inputMimeTypes } from '../../domain/models/models.ts'
import { invalidValue } from '../../domain/requestFailures.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ImageVariant } from '../../domain/tasks/imageVariant.ts'
import { fileExtensions, variantName } from '../../domain/tasks/imageVariant.ts'
import type { TaskAsset, TaskView } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import {
  answerImageKey,
  answerOriginalKey,
  answerVariantKey,
} from '../../domain/upstream/answerMeta.ts'
import { taskId } from '../../schema/answers/recordAnswer.ts'
import type { AssetForm } from '../../schema/assetForm.ts'
import { formParameters, readAssetForm } from '../../schema/assetForm.ts'
import { readAnswerMeta } from '../../tasks/produce/storedAnswer.ts'
import type { VariantBytes } from '../../tasks/variants.ts'
import type { Asset } from '../answers/sendAsset.ts'
import { assetNotFound, sendAsset } from '../answers/sendAsset.ts'
import type { ApiParts } from '../apiParts.ts'
import { formParametersOf } from '../assetUrl.ts'
import { clientLeft } from '../clientWaits.ts'
import type { HttpFailure } from '../errors.ts'
import type { Content, Handler, Route } from '../route.ts'
import { z } from 'zod'

const image: Content = Object.fromEntries(
  inputMimeTypes.map((type) => [type, z.string().meta({ format: 'binary' })]),
)

const answerHeaders = [
  'ETag',
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Security-Policy',
  'Cross-Origin-Resource-Policy',
] as const

export const getAssetRoute: Route<ApiParts> = {
  method: 'GET',
  path: '/v1/assets/{task_id}/{name}',
  id: 'getAsset',
  summary: 'Download a finished image',
  description:
    'The address is in `output.assets` of the record. It is signed, works without an API key, and expires with the image. Behind the signature it takes `width`, `format`, both in this order, or `original` alone.',
  extension: true,
  access: 'open',
  params: { task_id: taskId, name: z.enum(['image.png', 'image.jpg', 'image.webp']) },
  query: z.object({
    version: z.literal('1'),
    key: z.string(),
    expires: z.string(),
    signature: z.string(),
    width: formParameters.width.optional().meta({
      description: 'Returns the image at most this wide. It is never enlarged.',
    }),
    format: formParameters.format.optional().meta({
      description: 'Returns the image in this format.',
    }),
    original: formParameters.original.optional().meta({
      description: 'Returns what the vendor sent, where the image was converted from it. Else 404.',
    }),
  }),
  headers: {
    Range: z.string().optional().meta({ example: 'bytes=0-1023' }),
    'If-None-Match': z.string().optional(),
    'If-Range': z.string().optional(),
  },
  answers: {
    200: { description: 'The image.', headers: answerHeaders, content: image },
    206: {
      description: 'The requested part of the image.',
      headers: [...answerHeaders, 'Content-Range'],
      content: image,
    },
    304: {
      description: 'The image that the client has is the right one.',
      headers: answerHeaders,
    },
    307: {
      description:
        'The image is at an address of the blob store, which works for a minute (`ASSET_REDIRECT`).',
      headers: ['ETag', 'Location'],
    },
  },
  errors: ['asset_not_found', 'invalid_value', 'range_not_satisfiable', 'too_many_variants'],
  handler: getAsset,
}

/**
 * `GET /v1/assets/{task_id}/{name}?…`: answers with the image behind a signed URL, without an API key. A
 * valid signature is not enough. The task must also not have expired by the clock of the database. So the
 * image is never served when the task's record already says `expired`.
 */
export function getAsset(parts: ApiParts): Handler {
  return async (context) => {
    const { taskId = '', name = '' } = context.params
    const query = new URLSearchParams(context.querystring)
    const parameters = formParametersOf(parts.signingKeys, { taskId, name }, query)
    if (parameters === undefined) return assetNotFound
    context.state.taskId = taskId
    const task = await parts.readTaskOfImage(taskId)
    if (task?.asset === undefined || publicStatus(task) !== 'succeeded') return assetNotFound
    const form = readAssetForm(parameters, task.asset.mimeType)
    if (!form.ok) return form.failure
    const { asset: image } = task
    const convert = async (variant: ImageVariant): Promise<Result<number, HttpFailure>> => {
      const of = { ...task, answerId: image.answerId }
      const length = await parts.variants.bytesOf(of, variant, clientLeft(context.res))
      return variantLength(length, parameters[0]?.[0] ?? '')
    }
    const asset = await assetOf(task, image, form.value, { ...parts, convert })
    return asset === undefined ? assetNotFound : sendAsset(context, parts, task, asset)
  }
}

type Forms = Pick<ApiParts, 'blobs'> & {
  /** Returns the length of a variant, and makes it where it is missing. */
  readonly convert: (variant: ImageVariant) => ReturnType<Asset['bytes']>
}

/** Returns what is served of an image, or `undefined` when it has no original besides itself. */
async function assetOf(
  { taskId }: TaskView,
  { answerId, mimeType, bytes, sha256 }: TaskAsset,
  form: AssetForm,
  { blobs, convert }: Forms,
): Promise<Asset | undefined> {
  if (form === 'image') {
    return {
      blobKey: answerImageKey(answerId),
      mimeType,
      etag: `"${sha256}"`,
      fileName: `${taskId}.${fileExtensions[mimeType]}`,
      bytes: async () => succeed(bytes),
    }
  }
  if (form === 'original') {
    const original = (await readAnswerMeta(blobs, answerId))?.original
    return (
      original && {
        blobKey: answerOriginalKey(answerId),
        mimeType: original.mimeType,
        etag: `"${original.sha256}"`,
        fileName: `${taskId}-original.${fileExtensions[original.mimeType]}`,
        bytes: async () => succeed(original.bytes),
      }
    )
  }
  const name = variantName(form)
  return {
    blobKey: answerVariantKey(answerId, form),
    mimeType: form.mimeType,
    // A variant is made once and stays as it is.
    etag: `"${sha256}-${name}"`,
    fileName: `${taskId}-${name}`,
    bytes: () => convert(form),
  }
}

function variantLength(length: VariantBytes, parameter: string): Result<number, HttpFailure> {
  switch (length) {
    case 'busy':
      return fail({ tag: 'too_many_variants', retryAfterSeconds: 5 })
    case 'gone':
      return fail(assetNotFound)
    case 'not_convertible':
      return fail(invalidValue(parameter, 'the image is too large or too broken to be converted'))
    default:
      return succeed(length)
  }
}
