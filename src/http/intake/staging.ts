import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { defined } from '../../domain/defined.ts'
import type { BlobStore } from '../../domain/ports/blobStore.ts'
import type { ReceivedImage } from '../../domain/tasks/imageRequest.ts'
import { createWholeImageCheck } from '../../streams/images/wholeImage.ts'
import type { TaskService } from '../../tasks/taskService.ts'

/**
 * Stores the images of one request until a task takes them over. All images of the request are in one upload: a key
 * prefix in the blob store with a row in PostgreSQL. The row tells the sweep when to delete an upload that no task
 * has taken over.
 */
export type Staging = {
  /** Stores one image while it arrives. Each `index` may be used once. */
  readonly take: (
    content: AsyncIterable<Uint8Array>,
    at: { readonly path: readonly (string | number)[]; readonly index: number },
  ) => Promise<ReceivedImage>
  /** Returns the id of the upload, or `undefined` as long as no image has begun to arrive. */
  readonly uploadId: () => string | undefined
  /** Makes the upload due for the sweep, which deletes it later. Does nothing if a task has taken the upload over. */
  readonly discard: () => Promise<void>
}

export function createStaging(tasks: TaskService, blobs: BlobStore): Staging {
  // The upload is opened when the first image arrives, because most requests have no image.
  let opened: Promise<string> | undefined
  let uploadId: string | undefined

  async function take(
    content: AsyncIterable<Uint8Array>,
    { path, index }: Parameters<Staging['take']>[1],
  ): Promise<ReceivedImage> {
    opened ??= tasks.openUpload()
    uploadId = await opened
    const blobKey = `${uploadId}/${index}`
    const check = createWholeImageCheck()
    // Until the intake reads a body whole: collects the image, because the blob store takes whole images.
    const image = await buffer(check.passThrough(content))
    await blobs.put(blobKey, image)
    const sha256 = createHash('sha256').update(image).digest('hex')
    const type = check.finish()?.mimeType
    return { path, blobKey, bytes: image.length, sha256, ...defined({ sniffedType: type }) }
  }

  return {
    take,
    uploadId: () => uploadId,
    discard: async () => {
      if (uploadId !== undefined) await tasks.discardUpload(uploadId)
    },
  }
}
