import type { Task } from './apiTypes.ts'
import { taskPath } from './callOptions.ts'
import { knowing } from './darkroomError.ts'
import { readEvents } from './eventStream.ts'
import { pauseMs, retryAfterMs } from './repeats.ts'
import type { Call, Failed, Repeating, Transport, Tried } from './transport.ts'
import { numberIn, readJson } from './transport.ts'

// The task is bought already, so waiting for it goes on through every failure that may pass, until the deadline.

/** The record of a task, with what it cost once it has ended (events do not say it). */
export type TaskRecord = Task & { readonly credits_charged?: number }

export type WaitSettings = {
  /** How long to wait between two lookups where the service cannot hold them. At least what it asks for. */
  readonly pollMs?: number | undefined
  /** Is told of the record at each lookup. */
  readonly onProgress?: ((task: TaskProgress) => void) | undefined
}

/** The first has the id of a new task, as soon as it is accepted. */
export type TaskProgress = Pick<Task, 'task_id' | 'status' | 'progress'>

const holdSecondsMax = 60
const defaultPollMs = 3_000
/** The service sends a comment each 15 s. */
const silenceMsMax = 45_000

/** Whether a record says that its task has ended. A status that this version does not know is no end. */
export function hasEnded({ status }: { readonly status: string }): boolean {
  return ['succeeded', 'completed', 'failed', 'expired'].includes(status)
}

/** Reads a record with the headers that belong to it. */
export async function readRecord(response: Response): Promise<TaskRecord> {
  const { body, headers } = await readJson<TaskRecord>(response)
  const charged = numberIn(headers, 'x-credits-charged')
  return charged === undefined ? body : { ...body, credits_charged: charged }
}

/** Returns the record of a task when it has ended, in whichever way. */
export async function waitForEnd(
  transport: Transport,
  taskId: string,
  repeating: Repeating,
  { pollMs = defaultPollMs, onProgress }: WaitSettings,
): Promise<TaskRecord> {
  const { deadline } = repeating
  let holdSeconds = holdSecondsMax
  for (let failures = 0; ;) {
    const tried = await lookUp(transport, taskId, repeating, holdSeconds)
    if (tried.ok) {
      failures = 0
      const { record, wasHeld, askedMs = 0 } = tried.value
      onProgress?.(record)
      if (hasEnded(record)) return record
      if (!wasHeld) await deadline.sleep(Math.max(pollMs, askedMs))
    } else {
      failures += 1
      // A proxy on the way may cut what is silent for long. Zero is polling.
      holdSeconds = Math.floor(holdSeconds / 2)
      await pauseAfter(tried, failures, repeating)
    }
  }
}

type Lookup = {
  readonly record: TaskRecord
  readonly wasHeld: boolean
  readonly askedMs: number | undefined
}

function lookUp(
  transport: Transport,
  taskId: string,
  repeating: Repeating,
  holdSeconds: number,
): Promise<Tried<Lookup>> {
  const seconds = Math.min(holdSeconds, Math.ceil(repeating.deadline.leftMs() / 1_000))
  const call: Call = {
    method: 'GET',
    path: taskPath(taskId),
    heldMs: seconds * 1_000,
    headers: seconds > 0 ? { prefer: `wait=${seconds}` } : {},
  }
  return transport.attempt(call, repeating, async (response) => ({
    record: await readRecord(response),
    wasHeld: response.headers.has('preference-applied'),
    askedMs: retryAfterMs(response.headers),
  }))
}

/** Yields the record of a task at each change, the last one with its end. Resumes where a stream broke. */
export async function* followEvents(
  transport: Transport,
  taskId: string,
  repeating: Repeating,
): AsyncGenerator<TaskRecord, void, undefined> {
  let lastId: string | undefined
  for (let failures = 0; ; failures += 1) {
    const tried = await transport.attempt(
      {
        method: 'GET',
        path: taskPath(taskId, '/events'),
        headers: lastId === undefined ? {} : { 'last-event-id': lastId },
      },
      repeating,
      async (response) => response.body,
    )
    // 204: the end was seen.
    if (tried.ok && tried.value === null) return
    if (tried.ok && tried.value !== null) {
      try {
        for await (const { id, data } of readEvents(tried.value, silenceMsMax)) {
          failures = 0
          lastId = id
          const record: TaskRecord = JSON.parse(data)
          yield record
          if (hasEnded(record)) return
        }
      } catch (cause) {
        const over = repeating.deadline.overBecause()
        if (over !== undefined) throw over.with({ taskId, cause })
      }
    }
    const failed = tried.ok ? { askedMs: undefined } : tried
    await knowing({ taskId }, () => pauseAfter(failed, failures + 1, repeating))
  }
}

/** Waits before the next request. Throws what no repeat can mend, and when the deadline comes before. */
async function pauseAfter(
  failed: Pick<Failed, 'askedMs'> | Failed,
  failures: number,
  { deadline }: Repeating,
): Promise<void> {
  if ('error' in failed && !failed.mayRepeat) throw failed.error
  await deadline.sleep(pauseMs(failures, failed.askedMs))
}
