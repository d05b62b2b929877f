import type { TaskRequest } from './apiTypes.ts'
import type { Caller } from './callOptions.ts'
import { knowing } from './darkroomError.ts'
import type { Picture } from './picture.ts'
import { pictureOf } from './picture.ts'
import type { SourceImage } from './sourceImage.ts'
import { readSourceImages } from './sourceImage.ts'
import type { CreateOptions, WaitOptions } from './tasks.ts'
import { keyOf, submit } from './tasks.ts'
import type { TaskRecord } from './waiting.ts'
import { waitForEnd } from './waiting.ts'

/** What an image is made of. */
export type GenerateRequest = Omit<TaskRequest, 'action' | 'input_images'>
export type EditRequest = GenerateRequest & {
  /** The source images: 1 to 16 of PNG, JPEG or WebP, 20 MiB each, 64 MiB together. */
  readonly images: readonly SourceImage[]
}
export type ImageOptions = CreateOptions & WaitOptions

/** Images: a task is made and waited for in one. */
export function createImages(caller: Caller) {
  async function make(
    request: TaskRequest,
    options: ImageOptions,
    repeating = caller.begin(options),
  ): Promise<Picture> {
    const { transport } = caller
    const idempotencyKey = keyOf(options)
    const { task_id: taskId, status } = await submit(transport, request, idempotencyKey, repeating)
    options.onProgress?.({ task_id: taskId, status, progress: 0 })
    const record = await knowing({ taskId, idempotencyKey }, () =>
      waitForEnd(transport, taskId, repeating, options),
    )
    return pictureOf(caller, record)
  }

  return {
    /** Makes an image from a prompt. Throws a `DarkroomError` when the task fails. */
    async generate(request: GenerateRequest, options: ImageOptions = {}): Promise<Picture> {
      return make({ ...request, action: 'generate' }, options)
    },
    /** Makes an image from a prompt and source images. Throws a `DarkroomError` when the task fails. */
    async edit({ images, ...request }: EditRequest, options: ImageOptions = {}): Promise<Picture> {
      const repeating = caller.begin(options)
      const input_images = await readSourceImages(images, repeating.deadline)
      return make({ ...request, action: 'edit', input_images }, options, repeating)
    },
    /** Returns the image of a record, such as one that another process waited for. */
    of(task: TaskRecord): Picture {
      return pictureOf(caller, task)
    },
  }
}
