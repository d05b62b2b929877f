import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { splitAtImage } from '../../domain/nativeResponse.ts'
import { answerImageKey } from '../../domain/storedAnswer.ts'
import type { TaskView } from '../../domain/task.ts'
import { base64Length, encodeBase64 } from '../../streams/base64.ts'
import type { ApiContext, ApiParts } from '../context.ts'

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

type StreamedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Exactly what `content` yields: so a client sees when an answer was cut. */
  readonly contentLength: number
  /** Not called for HEAD. */
  readonly content: () => AsyncIterable<Uint8Array>
}

/**
 * Streams an answer with backpressure and destroys the connection when its content fails midway, which
 * Koa would leave hanging. Settles when it is sent or its client has gone; other errors are thrown.
 */
export async function sendStream(context: ApiContext, answer: StreamedAnswer): Promise<void> {
  context.status = answer.status
  context.set({ ...answer.headers, 'Content-Length': String(answer.contentLength) })
  context.respond = false
  const { res } = context
  if (context.method === 'HEAD') {
    res.end()
    return
  }
  try {
    await pipeline(Readable.from(answer.content(), { objectMode: false }), res)
  } catch (error) {
    if (!isPrematureClose(error)) throw error
  }
}

/** `pipeline`'s word for a client that left. */
function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
