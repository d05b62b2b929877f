import type { Pool } from 'pg'
import type { TaskEnds, TaskWatch, WatchedChange } from '../../domain/ports/taskStore.ts'
import type { TaskStatus } from '../../domain/tasks/task.ts'
import type { Listener } from '../connection/listener.ts'
import { createListener } from '../connection/listener.ts'
import { taskEndChannel } from './announceEnd.ts'

type TaskEndsOptions = {
  readonly databaseUrl: string
  /** Used by the poll, which finds ends whose notification was lost, and other changes of the status. */
  readonly pool: Pool
  readonly onConnectionError: (error: Error) => void
  /** Time between two polls. Default 1 s. */
  readonly pollMs?: number
}

type Watcher = { readonly what: WatchedChange; readonly wake: () => void }

type Watched = {
  readonly watchers: Set<Watcher>
  /** The status that the last poll found. Empty before the first. */
  polledStatus: string
}

/**
 * Creates the part that wakes callers when a task ends. The process that has ended a task sends a notification
 * after its commit, and one connection listens for it. This connection opens at the first watch and is replaced
 * when it is lost. In addition, one query per `pollMs` reads all watched tasks at once. So if a notification is
 * lost, the caller waits longer by `pollMs` at most. The poll also finds tasks that have begun to be processed.
 */
export function createTaskEnds(options: TaskEndsOptions): TaskEnds {
  const watched = new Map<string, Watched>()
  const wakeAll = () => [...watched.values()].forEach((task) => wake(task, 'end'))
  let listener: Listener | undefined
  let poll: NodeJS.Timeout | undefined
  let polling = false

  const pollStatuses = async () => {
    if (polling || watched.size === 0) return
    polling = true
    try {
      for (const { taskId, status } of await changedAmong(options.pool, watched)) {
        const task = watched.get(taskId)
        if (task === undefined) continue
        task.polledStatus = status ?? ''
        wake(task, status === 'queued' || status === 'processing' ? 'status' : 'end')
      }
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
      onMessage: (taskId) => {
        const task = watched.get(taskId)
        if (task !== undefined) wake(task, 'end')
      },
      onConnected: wakeAll,
      onError: options.onConnectionError,
    })
    poll ??= setInterval(() => void pollStatuses(), options.pollMs ?? 1_000)
  }

  return {
    watch: (taskId, what) => {
      begin()
      return watchOne(watched, taskId, what, () => {
        if (watched.size > 0) return
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

/** Wakes the callers that watch for this change. An end is also a change of the status. */
function wake({ watchers }: Watched, change: WatchedChange): void {
  for (const watcher of watchers) {
    if (change === 'end' || watcher.what === 'status') watcher.wake()
  }
}

/**
 * Watches one task. If a change is reported between two calls of `next`, the second call resolves at once.
 */
function watchOne(
  watched: Map<string, Watched>,
  taskId: string,
  what: WatchedChange,
  onStop: () => void,
): TaskWatch {
  let woken = false
  let resolveNext: (() => void) | undefined
  const watcher: Watcher = {
    what,
    wake: () => {
      woken = true
      resolveNext?.()
    },
  }
  const task = watched.get(taskId) ?? { watchers: new Set<Watcher>(), polledStatus: '' }
  watched.set(taskId, task)
  task.watchers.add(watcher)
  return {
    next: async (signal, limitMs) => {
      if (!woken && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const onAbort = () => resolve()
        resolveNext = resolve
        signal.addEventListener('abort', onAbort, { once: true })
        const timer = limitMs === undefined ? undefined : setTimeout(resolve, limitMs)
        await promise
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const wasWoken = woken
      woken = false
      resolveNext = undefined
      return wasWoken
    },
    stop: () => {
      task.watchers.delete(watcher)
      if (task.watchers.size === 0 && watched.get(taskId) === task) watched.delete(taskId)
      onStop()
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
