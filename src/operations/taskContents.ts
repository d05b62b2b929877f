import type { Json, JsonObject } from '../domain/json.ts'
import type { ImageMimeType } from '../domain/models/models.ts'
import type { BlobStore, FoundBlob } from '../domain/ports/blobStore.ts'
import { succeed } from '../domain/result.ts'
import type { ContentDocument, ImageRequest } from '../domain/tasks/imageRequest.ts'
import { publicStatus } from '../domain/tasks/taskRecord.ts'
import type { AskedVariant } from '../domain/tasks/imageVariant.ts'
import { variantOf } from '../domain/tasks/imageVariant.ts'
import { answerImageKey, answerVariantKey } from '../domain/upstream/answerMeta.ts'
import { readRequest } from '../store/operator/readContents.ts'
import { expireTask } from '../store/tasks/expireTask.ts'
import { readTaskOfImage } from '../store/tasks/readTask.ts'
import { deleteUploads } from '../tasks/taskDeletion.ts'
import type { Variants } from '../tasks/variants.ts'
import type { AnswerOf } from '../schema/answerOf.ts'
import type { taskRequest } from '../schema/operators/operatorTasks.ts'
import { audited } from './audit.ts'
import type { Done, OperationDeps } from './operation.ts'
import { missing, refuse } from './operation.ts'

// What clients sent and got. Each look and each deletion is recorded, because prompts and images are private.

export type ContentDeps = OperationDeps & {
  /** Returns the blob store of the installation. Throws when it cannot be used. */
  readonly openBlobs: () => Promise<Pick<BlobStore, 'read' | 'deletePrefix'>>
  /** Absent on the command line, which shows no images. */
  readonly variants?: Variants
}

/** An image. Who has it closes its blob. `bytes` is the length that the blob should have. */
export type StoredImage = {
  readonly mimeType: ImageMimeType
  readonly bytes: number
  readonly blob: FoundBlob
}

/** Shows what a client asked for, as long as it is kept. */
export async function showRequest(
  deps: OperationDeps,
  taskId: string,
): Done<AnswerOf<typeof taskRequest>> {
  const request = await lookAtRequest(deps, taskId, {})
  if (!request.ok) return request
  const { model, action, size, quality, body, inputs } = request.value
  return succeed({
    task_id: taskId,
    prompt: body.kind === 'prompt' ? body.prompt : textsOf(body.content),
    model,
    action,
    size: size ?? null,
    quality: quality ?? null,
    images: inputs.map(({ mimeType, bytes }, i) => ({ n: i + 1, mime_type: mimeType, bytes })),
  })
}

/** Opens the source image with the number `n` of a request, from 1. */
export async function openSourceImage(
  deps: ContentDeps,
  { taskId, n }: { readonly taskId: string; readonly n: number },
): Done<StoredImage> {
  const request = await lookAtRequest(deps, taskId, { image: n })
  if (!request.ok) return request
  const input = request.value.inputs[n - 1]
  if (input === undefined) return missing(`source image ${n} of ${taskId}`)
  const blobs = await deps.openBlobs()
  const blob = await blobs.read(input.blobKey)
  const { mimeType, bytes } = input
  return blob === undefined ? inputsGone : succeed({ mimeType, bytes, blob })
}

/** Opens the image that was made, or the variant of it that is asked for, where that can be made in time. */
export async function openTaskImage(
  deps: ContentDeps,
  taskId: string,
  asked: AskedVariant,
): Done<StoredImage> {
  const change = { action: 'task.image', target: taskId, params: {} }
  const found = await audited(deps, change, async (client) => {
    const task = await readTaskOfImage(client, taskId)
    if (task === undefined) return missing(`task ${taskId}`)
    const image = publicStatus(task) === 'succeeded' ? task.asset : undefined
    return image === undefined ? noImage : succeed({ ...image, accountId: task.accountId })
  })
  if (!found.ok) return found
  const { answerId, mimeType, bytes } = found.value
  const blobs = await deps.openBlobs()
  if (asked.width !== undefined || asked.format !== undefined) {
    const variant = variantOf(asked, mimeType)
    const { signal } = new AbortController()
    const length = await deps.variants?.bytesOf(found.value, variant, signal)
    const small =
      typeof length === 'number' && (await blobs.read(answerVariantKey(answerId, variant)))
    if (small) return succeed({ mimeType: variant.mimeType, bytes: small.bytes, blob: small })
  }
  const blob = await blobs.read(answerImageKey(answerId))
  return blob === undefined ? noImage : succeed({ mimeType, bytes, blob })
}

/**
 * Deletes the image, the source images, the prompt and the native response of an ended task. Its row in the audit is
 * written with the commit, from which on nothing of it is served. Throws when the blob store does not confirm that the
 * bytes are gone: then the operator repeats it, or the sweep does after a minute.
 */
export async function purgeTask(
  deps: ContentDeps,
  taskId: string,
): Done<{ readonly purged: true }> {
  const blobs = await deps.openBlobs()
  const change = { action: 'task.purge', target: taskId, params: {} }
  const expired = await audited(deps, change, async (client) => {
    const result = await expireTask(client, taskId)
    if (result.kind === 'expired') return succeed(result.uploadIds)
    return result.kind === 'missing' ? missing(`task ${taskId}`) : notFinished
  })
  if (!expired.ok) return expired
  await deleteUploads({ ...deps, blobs }, expired.value)
  return succeed({ purged: true })
}

function lookAtRequest(
  deps: OperationDeps,
  taskId: string,
  params: { readonly image?: number },
): Done<ImageRequest> {
  const change = { action: 'task.request', target: taskId, params }
  return audited(deps, change, async (client) => {
    const request = await readRequest(client, taskId)
    if (request === 'unknown') return missing(`task ${taskId}`)
    return request === undefined ? inputsGone : succeed(request)
  })
}

const inputsGone = refuse(
  'inputs_gone',
  'The prompt and the source images of the task are no longer stored.',
)
const notFinished = refuse('task_not_finished', 'The task is not finished yet.')
const noImage = refuse('no_image', 'The task has no image, or it has expired.')

/** Returns every text part of a document, in its order. */
function textsOf({ systemInstruction, contents }: ContentDocument): string {
  const documents = systemInstruction === undefined ? contents : [systemInstruction, ...contents]
  return documents.flatMap(partTexts).join('\n')
}

function partTexts({ parts }: JsonObject): readonly string[] {
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part: Json) => {
    const text = typeof part === 'object' && part !== null && 'text' in part ? part['text'] : ''
    return typeof text === 'string' && text !== '' ? [text] : []
  })
}
