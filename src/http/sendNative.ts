import { answerImageKey } from '../domain/answerMeta.ts'
import { splitAtImage } from '../domain/nativeResult.ts'
import type { TaskView } from '../domain/taskState.ts'
import { base64Length, encodeBase64 } from '../streams/encodeBase64.ts'
import type { ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import type { HttpFailure } from './httpFailure.ts'
import { sendStream } from './sendStream.ts'

/**
 * The native response of a succeeded task with the image bytes inside, streamed from the blob store.
 * Once the task has expired its answer is `gone`.
 */
export async function sendNative(
  context: ApiContext,
  parts: ApiParts,
  task: TaskView,
  gone: HttpFailure,
): Promise<HttpFailure | undefined> {
  const meta = await parts.tasks.answer(task)
  if (meta === undefined || task.asset === undefined) return gone
  const image = await parts.blobs.read(answerImageKey(task.asset.answerId))
  if (image === undefined) return gone
  const { before, after } = splitAtImage(meta.native)
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
  return undefined
}
