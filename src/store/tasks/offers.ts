import type { Pool } from 'pg'
import { families } from '../../domain/models/models.ts'
import type { Offer } from '../../domain/tasks/offer.ts'
import type { TaskStart } from '../../domain/ports/taskRuns.ts'
import type { TaskStartRow } from '../reconcile/tasksToCheck.ts'
import { taskStartColumns, taskStartOf } from '../reconcile/tasksToCheck.ts'

/** Returns the channel of PostgreSQL's NOTIFY on which a process hears its offers. */
export function offerChannel(processId: string): string {
  return `offer_${processId}`
}

/** Returns an offer as the text of a notification. */
export function offerText({ family, taskId }: Offer): string {
  return `${family} ${taskId}`
}

/** Reads the text of a notification. Returns `undefined` when it is no offer. */
export function readOffer(text: string): Offer | undefined {
  const [name, taskId] = text.split(' ')
  const family = families.find((each) => each === name)
  return family === undefined || taskId === undefined ? undefined : { family, taskId }
}

/** Returns the processes that take offers and have sent a beat in the last five seconds. */
export async function acceptingProcesses(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ processId: string }>({
    name: 'accepting-processes',
    text: `select process_id as "processId" from worker_process
      where accepting and seen_at > now() - interval '5 seconds'`,
  })
  return rows.map(({ processId }) => processId)
}

/**
 * Makes a task without a run due for its start in two seconds, and returns what the start needs. So the
 * reconciler starts the workflow if the caller cannot. Returns `undefined` when the task has ended, or its run
 * is known to exist.
 */
export async function makeStartDue(pool: Pool, taskId: string): Promise<TaskStart | undefined> {
  const { rows } = await pool.query<TaskStartRow>({
    name: 'make-start-due',
    text: `update task set checks = 0, next_check_at = now() + interval '2 seconds'
      where task_id = $1 and completed_at is null and started_at is null
      returning ${taskStartColumns}`,
    values: [taskId],
  })
  return rows[0] && taskStartOf(rows[0])
}
