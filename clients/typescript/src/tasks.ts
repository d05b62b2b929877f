import type {
  ContentResponse,
  ImagesResponse,
  ListTasksQuery,
  ListedTask,
  TaskAccepted,
  TaskRequest,
} from './apiTypes.ts'
import type { CallOptions, Caller } from './callOptions.ts'
import { taskPath } from './callOptions.ts'
import { DarkroomError, knowing } from './darkroomError.ts'
import type { Rows } from './pages.ts'
import { listRows } from './pages.ts'
import { downloadMs } from './picture.ts'
import type { Call, Repeating, Transport } from './transport.ts'
import { numberIn, readJson } from './transport.ts'
import type { TaskRecord, WaitSettings } from './waiting.ts'
import { followEvents, readRecord, waitForEnd } from './waiting.ts'

/** An accepted task. Its id is all that another process needs to wait for it. */
export type AcceptedTask = TaskAccepted & {
  readonly idempotency_key: string
  /** Whether an earlier call with this key made the task. */
  readonly idempotent_replayed: boolean
  readonly credits_held: number
}

export type CreateOptions = CallOptions & {
  /** Names the purchase: a call with the same key and the same request buys nothing twice. Default: a random one. */
  readonly idempotencyKey?: string | undefined
}

export type WaitOptions = CallOptions & WaitSettings

/** Tasks: what the API calls them is what these functions are called. */
export function createTasks(caller: Caller) {
  const { transport, begin } = caller

  /** Makes a call that is answered with a record. */
  function record(method: Call['method'], path: string, options: CallOptions) {
    return transport.send({ method, path }, begin(options), readRecord)
  }

  return {
    /** Submits a task, and returns as soon as it is accepted. */
    async create(request: TaskRequest, options: CreateOptions = {}): Promise<AcceptedTask> {
      return submit(transport, request, keyOf(options), begin(options))
    },
    /** Reads the record of a task. */
    async get(taskId: string, options: CallOptions = {}): Promise<TaskRecord> {
      return record('GET', taskPath(taskId), options)
    },
    /** Lists tasks, newest first. `limit` is the length of a page. */
    list(query: ListTasksQuery = {}, options: CallOptions = {}): Rows<ListedTask> {
      return listRows(caller, { path: '/v1/tasks', query, idOf: (row) => row.task_id }, options)
    },
    /** Waits until a task has ended, and returns its record, also when it has failed. */
    async wait(taskId: string, options: WaitOptions = {}): Promise<TaskRecord> {
      return knowing({ taskId }, () => waitForEnd(transport, taskId, begin(options), options))
    },
    /** Yields the record of a task at each change of status and progress, the last one with its end. */
    follow(taskId: string, options: CallOptions = {}): AsyncGenerator<TaskRecord, void, undefined> {
      return followEvents(transport, taskId, begin(options))
    },
    /** Cancels a task at no charge. Throws `task_not_cancellable` when its image may be charged. */
    async cancel(taskId: string, options: CallOptions = {}): Promise<TaskRecord> {
      return record('POST', taskPath(taskId, '/cancel'), options)
    },
    /** Reads the answer of the model in its own shape, with the image as Base64 in it. */
    async result(
      taskId: string,
      options: CallOptions = {},
    ): Promise<ImagesResponse | ContentResponse> {
      const path = taskPath(taskId, '/result')
      return caller.json({ method: 'GET', path, heldMs: downloadMs }, options)
    },
    /** Deletes an ended task's image, prompt and source images for good. */
    async delete(taskId: string, options: CallOptions = {}): Promise<TaskRecord> {
      return record('DELETE', taskPath(taskId), options)
    },
  }
}

/** Submits a task. The key and the body are the same at every repeat. */
export async function submit(
  transport: Transport,
  request: TaskRequest,
  key: string,
  repeating: Repeating,
): Promise<AcceptedTask> {
  const call: Call = {
    method: 'POST',
    path: '/v1/images/tasks',
    json: JSON.stringify(request),
    headers: { 'idempotency-key': key },
  }
  const { body, headers } = await transport.send(call, repeating, readJson<TaskAccepted>)
  return {
    ...body,
    idempotency_key: key,
    idempotent_replayed: headers.get('idempotent-replayed') === 'true',
    credits_held: numberIn(headers, 'x-credits-held') ?? 0,
  }
}

/** Returns the key of a purchase. Browsers have `crypto.randomUUID` only on pages with TLS. */
export function keyOf({ idempotencyKey }: CreateOptions): string {
  if (idempotencyKey === undefined) {
    const bytes = crypto.getRandomValues(new Uint8Array(16))
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  }
  if (/^[ -~]{1,255}$/.test(idempotencyKey)) return idempotencyKey
  throw new DarkroomError('idempotencyKey takes 1 to 255 characters of ASCII.', {
    code: 'invalid_value',
    param: 'idempotencyKey',
  })
}
