import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Messages } from '../store/connection/messages.ts'
import type { SeenStatus } from '../store/tasks/changedTasks.ts'
import { findChanged } from '../store/tasks/changedTasks.ts'

export type TaskWatches = ReturnType<typeof createTaskWatches>

type Watcher = {
  readonly wake: () => void
  /** What the caller has seen of the task. Absent while the caller does not wait. */
  seen?: SeenStatus | undefined
}

/** Limit for one wait. Node's timers cannot be longer than 24 days. */
const waitMsMax = 60_000

/**
 * Creates the part that wakes callers when a task changes. The process that has ended a task sends a message after its
 * commit. In addition, one query per `pollMs` compares what all waiting callers have seen with the rows of their tasks. It
 * finds ends whose message was lost, and tasks that have begun to be processed.
 */
export function createTaskWatches(deps: {
  readonly pool: Pool
  readonly hear: Messages['hear']
  /** Called when the query of a poll fails. */
  readonly onError: (error: unknown) => void
  /** Time between two polls. Default 1 s. */
  readonly pollMs?: number
}) {
  const { pool, onError, pollMs = 1_000 } = deps
  const watched = new Map<string, Set<Watcher>>()
  const closing = new AbortController()

  async function poll(): Promise<void> {
    const waiting = [...watched].flatMap(([taskId, watchers]) =>
      [...watchers].flatMap(({ seen, wake }) => (seen === undefined ? [] : { taskId, seen, wake })),
    )
    if (waiting.length === 0) return
    for (const index of await findChanged(pool, waiting)) waiting[index]?.wake()
  }

  async function pollUntilClosed(): Promise<void> {
    const { signal } = closing
    while (!signal.aborted) {
      await sleep(pollMs, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted) await poll().catch(onError)
    }
  }

  deps.hear((taskId) => watched.get(taskId)?.forEach(({ wake }) => wake()))
  const polling = pollUntilClosed()
  return {
    /**
     * Watches one task. Start the watch before you read the task's row. Otherwise you miss a message between the read
     * and the watch. The caller wakes at once after an end, and within a second after another change.
     */
    watch: (taskId: string) => watchOne(watched, taskId),
    /** Ends the polls. */
    close: async () => {
      closing.abort()
      await polling
    },
  }
}

function watchOne(watched: Map<string, Set<Watcher>>, taskId: string) {
  let woken = new AbortController()
  // Without a reason, Node would make an error with its stack for each end.
  const watcher: Watcher = { wake: () => woken.abort('woken') }
  const watchers = watched.get(taskId) ?? new Set()
  watched.set(taskId, watchers.add(watcher))
  return {
    /**
     * Resolves to true when the task has ended since the last call, or is no more what the caller has seen. Resolves to
     * false when the signal aborts and after `limitMs`, which is a minute at most. Never rejects.
     */
    next: async (signal: AbortSignal, seen: SeenStatus, limitMs = waitMsMax): Promise<boolean> => {
      const over = AbortSignal.any([signal, woken.signal])
      watcher.seen = seen
      await sleep(Math.min(limitMs, waitMsMax), undefined, { signal: over }).catch(() => {})
      watcher.seen = undefined
      const wasWoken = woken.signal.aborted
      if (wasWoken) woken = new AbortController()
      return wasWoken
    },
    /** Ends the watch. Call this once. */
    stop: (): void => {
      watchers.delete(watcher)
      if (watchers.size === 0) watched.delete(taskId)
    },
  }
}
