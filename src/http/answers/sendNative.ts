import type { TaskView } from '../../domain/tasks/task.ts'
import { publicStatus } from '../../domain/tasks/taskRecord.ts'
import { splitAtImage } from '../../domain/upstream/nativeResponse.ts'
import { answerImageKey } from '../../domain/upstream/answerMeta.ts'
import { base64Length, encodeBase64 } from '../../bytes/base64.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'
import type { AnswerStream } from './answerStream.ts'
import { sendStream } from './sendBody.ts'

/**
 * Sends the native response of a succeeded task, or the event of a stream that has it. The image bytes are streamed from
 * the blob store into the response. Returns false, and sends nothing, when the image was deleted since the task was read.
 * Throws when the response or the image is missing, or not whole, although the task has not expired. Such an image is
 * lost, so the answer tells the client not to retry.
 */
export async function sendNative(
  context: ApiContext,
  { blobs, readTaskOfImage }: Pick<ApiParts, 'blobs' | 'readTaskOfImage'>,
  task: TaskView,
  headers: Readonly<Record<string, string>> = {},
  stream?: AnswerStream,
): Promise<boolean> {
  const { native, asset } = task
  if (native === undefined || asset === undefined) throw lost(context, task, 'answer')
  const { before, after } = stream?.aroundImage(native, task) ?? splitAtImage(native)
  const [head, tail] = [Buffer.from(before), Buffer.from(after)]
  const isSent = await sendStream(context, {
    status: 200,
    headers: { 'Content-Type': 'application/json', ...stream?.headers, ...headers },
    contentLength: head.length + base64Length(asset.bytes) + tail.length,
    open: () => blobs.read(answerImageKey(asset.answerId)),
    blobBytes: asset.bytes,
    bodyOf: (content) => {
      stream?.beginEvent()
      return around(head, encodeBase64(content), tail)
    },
  })
  if (isSent) return true
  const now = await readTaskOfImage(task.taskId)
  if (now === undefined || publicStatus(now) === 'expired') return false
  throw lost(context, task, 'image')
}

async function* around(
  head: Uint8Array,
  content: AsyncIterable<Uint8Array>,
  tail: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield head
  yield* content
  yield tail
}

function lost(context: ApiContext, { taskId }: TaskView, part: 'image' | 'answer'): Error {
  context.state.retryIsUnsafe = true
  return new Error(`the ${part} of ${taskId} is missing`)
}
