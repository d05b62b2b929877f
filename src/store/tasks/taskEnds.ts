import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { TaskStatus } from '../../domain/tasks/task.ts'
import type { Messages } from '../connection/messages.ts'

export type TaskEnds = ReturnType<typeof createTaskEnds>

type Watched = {
  readonly wakes: Set<() => void>
  /** The status that the last poll found. Empty before the first. */
  polledStatus: string
}

/** Limit for one wait. Node's timers cannot be longer than 24 days. */
const waitMsMax = 60_000

/**
 * Creates the part that wakes callers when the status of a task changes. The process that has ended a task sends a
 * message after its commit. In addition, one query per `pollMs` reads the statuses of all watched tasks at once. It
 * finds ends whose message was lost, and tasks that have begun to be processed.
 */
export function createTaskEnds(deps: {
  readonly pool: Pool
  readonly hear: Messages['hear']
  /** Called when the query of a poll fails. */
  readonly onError: (error: unknown) => void
  /** Time between two polls. Default 1 s. */
  readonly pollMs?: number
}) {
  const { pool, onError, pollMs = 1_000 } = deps
  const watched = new Map<string, Watched>()
  const closing = new AbortController()
  const wake = (taskId: string) => watched.get(taskId)?.wakes.forEach((wakeOne) => wakeOne())

  async function poll(): Promise<void> {
    for (const { taskId, status } of await changedAmong(pool, watched)) {
      const task = watched.get(taskId)
      if (task !== undefined) task.polledStatus = status ?? ''
      wake(taskId)
    }
  }

  async function pollUntilClosed(): Promise<void> {
    const { signal } = closing
    while (!signal.aborted) {
      await sleep(pollMs, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted && watched.size > 0) await poll().catch(onError)
    }
  }

  deps.hear(wake)
  const polling = pollUntilClosed()
  return {
    /**
     * Watches one task. Start the watch before you read the task's row. Otherwise you miss a change between the read
     * and the watch. The caller wakes at once after an end, and within a second after another change of the status.
     */
    watch: (taskId: string) => watchOne(watched, taskId),
    /** Ends the polls. */
    close: async () => {
      closing.abort()
      await polling
    },
  }
}

function watchOne(watched: Map<string, Watched>, taskId: string) {
  let woken = new AbortController()
  // Without a reason, Node would make an error with its stack for each end.
  const wake = () => woken.abort('woken')
  const task = watched.get(taskId) ?? { wakes: new Set<() => void>(), polledStatus: '' }
  watched.set(taskId, task)
  task.wakes.add(wake)
  return {
    /**
     * Resolves to true when the task has changed or may have changed since the last call, and to false when the signal
     * aborts and after `limitMs`, which is a minute at most. Never rejects.
     */
    next: async (signal: AbortSignal, limitMs = waitMsMax): Promise<boolean> => {
      const over = AbortSignal.any([signal, woken.signal])
      await sleep(Math.min(limitMs, waitMsMax), undefined, { signal: over }).catch(() => {})
      const wasWoken = woken.signal.aborted
      if (wasWoken) woken = new AbortController()
      return wasWoken
    },
    /** Ends the watch. Call this once. */
    stop: (): void => {
      task.wakes.delete(wake)
      if (task.wakes.size === 0) watched.delete(taskId)
    },
  }
}

/**
 * Returns those watched tasks whose status differs from that of the last poll. The status of a purged task is null.
 */
async function changedAmong(
  pool: Pool,
  watched: ReadonlyMap<string, Watched>,
): Promise<readonly { readonly taskId: string; readonly status: TaskStatus | null }[]> {
  const { rows } = await pool.query<{ taskId: string; status: TaskStatus | null }>({
    name: 'changed-among',
    text: `select asked.task_id as "taskId", task.status
      from unnest($1::text[], $2::text[]) as asked (task_id, polled) left join task using (task_id)
      where task.status is distinct from asked.polled`,
    values: [[...watched.keys()], [...watched.values()].map(({ polledStatus }) => polledStatus)],
  })
  return rows
}
