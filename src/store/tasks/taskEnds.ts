import type { Pool } from 'pg'
import type { TaskEnds } from '../../domain/ports/taskStore.ts'
import type { Listener } from '../connection/listener.ts'
import { createListener } from '../connection/listener.ts'

/** The channel on which a process reports the ids of the tasks that it has ended. */
export const taskEndChannel = 'task_end'

type TaskEndsOptions = {
  readonly databaseUrl: string
  /** Used by the poll, which finds ends whose notification was lost. */
  readonly pool: Pool
  readonly onConnectionError: (error: Error) => void
  /** Time between two polls. Default 1 s. */
  readonly pollMs?: number
}

type Watcher = () => void

/**
 * Creates the part that wakes callers when a task ends. The process that has ended a task sends a notification
 * after its commit, and one connection listens for it. This connection opens at the first watch and is replaced
 * when it is lost. In addition, one query per `pollMs` reads all watched tasks at once. So if a notification is
 * lost, the caller waits a second longer.
 */
export function createTaskEnds(options: TaskEndsOptions): TaskEnds {
  const watchers = new Map<string, Set<Watcher>>()
  const wake = (taskId: string) => watchers.get(taskId)?.forEach((watcher) => watcher())
  const wakeAll = () => [...watchers.keys()].forEach(wake)
  let listener: Listener | undefined
  let poll: NodeJS.Timeout | undefined
  let polling = false

  const pollEnds = async () => {
    if (polling || watchers.size === 0) return
    polling = true
    try {
      for (const taskId of await endedAmong(options.pool, [...watchers.keys()])) wake(taskId)
    } catch (error) {
      options.onConnectionError(error instanceof Error ? error : new Error('unknown error'))
    } finally {
      polling = false
    }
  }

  const begin = () => {
    listener ??= createListener({
      databaseUrl: options.databaseUrl,
      channel: taskEndChannel,
      onMessage: wake,
      onConnected: wakeAll,
      onError: options.onConnectionError,
    })
    poll ??= setInterval(() => void pollEnds(), options.pollMs ?? 1_000)
  }

  return {
    watch: (taskId) => {
      begin()
      return watchOne(watchers, taskId, () => {
        if (watchers.size > 0) return
        clearInterval(poll)
        poll = undefined
      })
    },
    close: async () => {
      clearInterval(poll)
      poll = undefined
      wakeAll()
      await listener?.close()
    },
  }
}

/**
 * Watches one task. If the task's end is reported between two calls of `next`, the second call resolves at
 * once.
 */
function watchOne(watchers: Map<string, Set<Watcher>>, taskId: string, onStop: () => void) {
  let woken = false
  let resolveNext: (() => void) | undefined
  const watcher = () => {
    woken = true
    resolveNext?.()
  }
  const ofTask = watchers.get(taskId) ?? new Set<Watcher>()
  watchers.set(taskId, ofTask.add(watcher))
  return {
    next: async (signal: AbortSignal) => {
      if (!woken && !signal.aborted) {
        await new Promise<void>((resolve) => {
          resolveNext = resolve
          signal.addEventListener('abort', watcher, { once: true })
        })
        signal.removeEventListener('abort', watcher)
      }
      woken = false
      resolveNext = undefined
    },
    stop: () => {
      ofTask.delete(watcher)
      if (ofTask.size === 0 && watchers.get(taskId) === ofTask) watchers.delete(taskId)
      onStop()
    },
  }
}

/** Returns those of the given tasks that have ended or are purged. */
async function endedAmong(pool: Pool, taskIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await pool.query<{ taskId: string }>({
    name: 'ended-among',
    text: `select asked.task_id as "taskId"
      from unnest($1::text[]) as asked (task_id) left join task using (task_id)
      where task.task_id is null or task.completed_at is not null`,
    values: [taskIds],
  })
  return rows.map((row) => row.taskId)
}
