import type { CallOptions, Caller } from './callOptions.ts'
import { DarkroomError } from './darkroomError.ts'
import { filesModule } from './runtime.ts'
import type { Call } from './transport.ts'
import type { TaskRecord } from './waiting.ts'

/** A large image over a slow line. */
export const downloadMs = 5 * 60_000

/** A smaller or converted form of an image, or the file as the vendor made it, where that was not a PNG. */
export type Variant =
  | {
      readonly width?: 128 | 256 | 512 | 1024
      readonly format?: 'png' | 'jpeg' | 'webp'
    }
  | { readonly original: true }

/** The image of a task. Nothing is loaded before it is asked for. */
export type Picture = {
  /** The record of the task, with `credits_charged`. */
  readonly task: TaskRecord
  /** Its address, which works without a key until the image expires. */
  readonly url: string
  readonly bytes: (options?: CallOptions) => Promise<Uint8Array<ArrayBuffer>>
  readonly stream: (options?: CallOptions) => Promise<ReadableStream<Uint8Array>>
  /** Writes the image to a file, which is there whole or not at all. */
  readonly save: (path: string, options?: CallOptions) => Promise<void>
  readonly variant: (variant: Variant) => Picture
}

/** Returns the image of a record. Throws when the record has none. */
export function pictureOf(caller: Caller, task: TaskRecord): Picture {
  const { task_id: taskId, error, output } = task
  const url = output?.assets[0]?.url
  if (url !== undefined) return pictureAt(caller, task, url)
  if (error !== undefined) throw new DarkroomError(error.message, { code: error.code, taskId })
  if (task.status === 'expired') throw gone({ taskId })
  throw new DarkroomError(`The task has no image yet: it is ${task.status}.`, {
    code: 'task_not_finished',
    taskId,
  })
}

function pictureAt(caller: Caller, task: TaskRecord, url: string): Picture {
  const load = async <Value>(
    read: (response: Response) => Promise<Value>,
    options: CallOptions = {},
  ): Promise<Value> => {
    try {
      const repeating = caller.begin(options)
      const call: Call = { method: 'GET', path: url, heldMs: downloadMs }
      return await caller.transport.send(call, repeating, read)
    } catch (cause) {
      const isGone = cause instanceof DarkroomError && cause.status === 404
      throw isGone ? gone({ taskId: task.task_id, status: 404, cause }) : cause
    }
  }
  const bytes = (options?: CallOptions) =>
    load(async (response) => new Uint8Array(await response.arrayBuffer()), options)

  return {
    task,
    url,
    bytes,
    stream: (options) => load(async (response) => response.body ?? new Blob([]).stream(), options),
    async save(path, options) {
      const [{ rename, rm, writeFile }, content] = await Promise.all([
        filesModule(),
        bytes(options),
      ])
      const part = `${path}.${crypto.getRandomValues(new Uint32Array(1))[0]}.part`
      try {
        await writeFile(part, content)
        await rename(part, path)
      } catch (error) {
        await rm(part, { force: true })
        throw error
      }
    },
    variant: (variant) => pictureAt(caller, task, url + queryOf(variant)),
  }
}

/** The service takes these parameters in this order alone. */
function queryOf(variant: Variant): string {
  if ('original' in variant) return '&original=true'
  const { width, format } = variant
  return `${width === undefined ? '' : `&width=${width}`}${format === undefined ? '' : `&format=${format}`}`
}

function gone(more: {
  readonly taskId: string
  readonly status?: number
  readonly cause?: unknown
}) {
  const message = 'The image is not there any more: it has expired, or was deleted.'
  return new DarkroomError(message, { code: 'result_expired', ...more })
}
