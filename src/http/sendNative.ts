import { answerImageKey } from '../domain/answerMeta.ts'
import { splitAtImage } from '../domain/nativeResult.ts'
import type { TaskView } from '../domain/taskState.ts'
import { base64Length, encodeBase64 } from '../streams/encodeBase64.ts'
import type { ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { sendStream } from './sendStream.ts'

/**
 * The native response of a succeeded task with the image bytes inside, streamed from the blob store. Throws
 * when the store does not have what it is to keep until the task expires: then the image is lost, and no
 * retry brings it back.
 */
export async function sendNative(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
): Promise<void> {
  const native = await parts.tasks.native(task)
  if (native === undefined || task.asset === undefined) throw lost(context, task, 'answer')
  const image = await parts.blobs.read(answerImageKey(task.asset.answerId))
  if (image === undefined) throw lost(context, task, 'image')
  const { before, after } = splitAtImage(native)
  const [head, tail] = [Buffer.from(before), Buffer.from(after)]
  await sendStream(context, {
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    contentLength: head.length + base64Length(image.bytes) + tail.length,
    content: async function* () {
      yield head
      yield* encodeBase64(image.content)
      yield tail
    },
  })
}

function lost(context: ApiContext, { taskId }: TaskView, part: 'image' | 'answer'): Error {
  context.state.retryMayRepeatWork = true
  return new Error(`the ${part} of ${taskId} is missing`)
}
