import DataLoader from 'dataloader'
import type { PoolClient } from 'pg'

/**
 * SQL that makes a transaction wait at its commit until everything that was committed before its snapshot is safe on
 * disk, also what was committed with `synchronous_commit = off`. With synchronous standbys, it waits for them as every
 * commit does. It writes an empty message to the write-ahead log, which PostgreSQL writes in order.
 *
 * Use it in a statement that also reads the row in question. The row may have been lost in a crash since its commit,
 * and a pooler hides the crash.
 */
export const flushSql = `pg_logical_emit_message(true, 'darkroom', '')`

/** A task that was inserted over `client` and committed with `synchronous_commit = off`. */
type InsertedTask = { readonly taskId: string; readonly client: PoolClient }

/** Limit for the tasks of one statement. A process has fewer connections than this. */
const tasksMax = 100

/**
 * Creates the function that waits until an inserted task is safe on disk. Returns false if a crash of PostgreSQL has
 * undone the insert: behind a pooler, the connection may by now lead to the server that has started again.
 *
 * Only one statement is under way. The tasks that come meanwhile wait for it, and then share the next one, which runs
 * on the connection of one of them. If that statement fails, each of the others asks over its own connection, because
 * its task is already committed.
 */
export function createFlushTask(): (task: InsertedTask) => Promise<boolean> {
  let underWay: Promise<unknown> = Promise.resolve()
  const together = new DataLoader<InsertedTask, boolean>(
    (tasks) => {
      const answers = flushTasks(tasks)
      underWay = answers.catch(() => {})
      return answers
    },
    { cache: false, maxBatchSize: tasksMax, batchScheduleFn: (send) => void underWay.then(send) },
  )
  return (task) =>
    together.load(task).catch(async () => {
      const [isThere = false] = await flushTasks([task])
      return isThere
    })
}

/** Flushes over the connection of the first task. Says of each task whether it is there. */
async function flushTasks(tasks: readonly InsertedTask[]): Promise<readonly boolean[]> {
  const [first] = tasks
  if (first === undefined) return []
  const { rows } = await first.client.query<{ readonly taskId: string }>({
    name: 'flush-tasks',
    text: `select task_id as "taskId", (select ${flushSql}) from task where task_id = any($1)`,
    values: [tasks.map(({ taskId }) => taskId)],
  })
  const there = new Set(rows.map(({ taskId }) => taskId))
  return tasks.map(({ taskId }) => there.has(taskId))
}
