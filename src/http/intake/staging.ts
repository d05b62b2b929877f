import { defined } from '../../domain/defined.ts'
import type { ReceivedImage } from '../../domain/imageRequest.ts'
import type { BlobStore } from '../../domain/ports/blobStore.ts'
import { createWholeImageCheck } from '../../streams/images/wholeImage.ts'
import type { TaskService } from '../../tasks/taskService.ts'

/** Stores the images of one request until its task takes them over. They share one upload. */
export type Staging = {
  /** Stores one image while it arrives. Each `index` may be used once. */
  readonly take: (
    content: AsyncIterable<Uint8Array>,
    at: { readonly path: readonly (string | number)[]; readonly index: number },
  ) => Promise<ReceivedImage>
  /** `undefined` while no image is stored. */
  readonly uploadId: () => string | undefined
  /** Deletes the upload. Does nothing once a task has taken it over. */
  readonly discard: () => Promise<void>
}

export function createStaging(tasks: TaskService, blobs: BlobStore): Staging {
  // The upload is opened with the first image: most requests have none.
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
    const { bytes, sha256 } = await blobs.put(blobKey, check.passThrough(content), {})
    const type = check.finish()?.mimeType
    return { path, blobKey, bytes, sha256, ...defined({ sniffedType: type }) }
  }

  return {
    take,
    uploadId: () => uploadId,
    discard: async () => {
      if (uploadId !== undefined) await tasks.discardUpload(uploadId)
    },
  }
}
