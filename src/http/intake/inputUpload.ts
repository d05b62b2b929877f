import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NewBlob } from '../../domain/ports/blobStore.ts'
import type { InputImage, UnstoredRequest } from '../../domain/tasks/imageRequest.ts'
import type { ApiParts } from '../apiParts.ts'
import type { ApiContext } from '../requestState.ts'

/** Returns how a task names the images of its request, before they are stored in an upload. */
export async function nameInputs(
  uploadId: string,
  { inputs }: UnstoredRequest,
): Promise<readonly InputImage[]> {
  const named: InputImage[] = []
  for (const [i, { mimeType, content }] of inputs.entries()) {
    const sha256 = await sha256Of(content)
    named.push({ blobKey: `${uploadId}/${i}`, mimeType, bytes: content.length, sha256 })
  }
  return named
}

/** Returns the blobs of the same images. */
export function blobsOf(uploadId: string, { inputs }: UnstoredRequest): readonly NewBlob[] {
  return inputs.map(({ content }, i) => [`${uploadId}/${i}`, content])
}

/** Hashing this many bytes takes about four milliseconds. */
const sliceBytes = 4 * 1024 * 1024

/** Returns the hash in lower-case hex. The event loop turns between two slices. */
async function sha256Of(content: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < content.length; at += sliceBytes) {
    if (at > 0) await nextTurn()
    hash.update(content.subarray(at, at + sliceBytes))
  }
  return hash.digest('hex')
}

/**
 * Runs `work`, which stores blobs in an upload and makes a task of it. The row of the upload is written before its first
 * blob, so that the sweep finds whatever a process leaves behind that is killed in between. If there is no new task, the
 * upload is discarded at the end.
 */
export async function withUpload<Value>(
  { context, parts }: { readonly context: ApiContext; readonly parts: ApiParts },
  uploadId: string,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    await parts.tasks.openUpload(uploadId)
    return await work()
  } finally {
    // It is `false` for a new task alone, which has taken the upload over.
    if (context.state.replayed !== false) {
      // An error here does not change the answer: the sweep deletes the upload when it is `uploadGraceMs` old.
      const { requestId, route } = context.state
      const report = (error: unknown) => parts.reportError?.(error, { requestId, route })
      await parts.tasks.discardUpload(uploadId).catch(report)
    }
  }
}
