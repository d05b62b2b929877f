import type { Pool } from 'pg'
import { defined } from '../../domain/defined.ts'
import { unreadableStoreMsMax } from '../../domain/limits.ts'
import type { Family } from '../../domain/models/models.ts'
import type { TaskStart } from '../../domain/tasks/taskStart.ts'
import type { Row } from '../row.ts'
import { isSyncSql } from '../taskRow.ts'

// Every rule of `next_check_at` stands here, but for two: a new row is due after 2 seconds, and `open_attempt` plans the
// check of a task for the end of the lease of its call, or for its hard end.
//
// A statement that claims due tasks also plans their next checks. So no task is claimed twice at once, whichever
// worker claims, and a task whose worker dies is due again. The rows to claim are chosen in a materialized part of
// the statement: PostgreSQL may run a plain subquery with a limit once per row, and then claims every row. The statements
// have no names, so that each is planned for the rows that there are.

/** The pause before the next check is `firstMs` and doubles with each check, up to this. */
const pauseMsMax = 120_000
/** The same for a synchronous task without a run. It may stand in the line of a worker that is lost. */
const linePauseMsMax = 10_000
/** A task that could not be started, or whose start no worker has finished. */
const unstartedFirstMs = 2_000
/** A task with a run: somebody may terminate it, and nothing tells Darkroom about it. */
const startedFirstMs = 15_000

/**
 * The check of a task whose call has ended: by then its worker is so late that somebody else must look after the task.
 * Sooner for a task without a run, because nobody except its worker continues it.
 */
export const afterCloseSql = `clock_timestamp() + case when started_at is null then interval '3 seconds'
      else interval '30 seconds' end`

/** The next check of a row of `task`. It comes no later than the row's deadline, and then its hard end. */
function nextCheckSql(firstMs: number, mostMs = pauseMsMax): string {
  const later = `now() + least(${firstMs} * 2.0 ^ least(checks, 10), ${mostMs}) * interval '1 millisecond'`
  return `case when deadline_at > now() then least(${later}, deadline_at)
      when hard_end_at > now() then least(${later}, hard_end_at) else ${later} end`
}

const startColumns = `task.task_id as "taskId", account_id as "accountId", family, model, action,
    size, ${isSyncSql} as sync,
    encode(key_digest, 'hex') as "keyDigest"`

/**
 * A condition on a row of `task`: it stands in the lines of workers, without a run. After a call that may have done work,
 * it gets its run.
 */
const standsInLineSql = `(${isSyncSql} and started_at is null and open_attempt is null and not work_possible)`

/** Claims due synchronous tasks of all families that no call may have done work for, longest overdue first. */
export async function claimForLine(pool: Pool, limit: number): Promise<readonly TaskStart[]> {
  const { rows } = await pool.query<Row<TaskStart>>({ text: forLineSql, values: [limit] })
  return rows.map(defined)
}

const forLineSql = `
  with due as materialized (
    select task_id as due_id from task
    where status in ('queued', 'processing') and next_check_at <= now() and deadline_at > now() and ${standsInLineSql}
    order by next_check_at limit $1 for update skip locked
  )
  update task set checks = checks + 1, next_check_at = ${nextCheckSql(unstartedFirstMs, linePauseMsMax)}
  from due where task_id = due_id
  returning ${startColumns}`

/**
 * Claims due live tasks of one family without a run and without an open call that do not stand in line. The account with
 * the fewest open calls comes first, and accounts take turns, so that the task of one account does not wait behind
 * thousands of another.
 */
export async function claimUnstarted(
  pool: Pool,
  family: Family,
  limit: number,
): Promise<readonly TaskStart[]> {
  const { rows } = await pool.query<Row<TaskStart>>({
    text: unstartedSql,
    values: [family, limit],
  })
  return rows.map(defined)
}

/** Chooses more tasks than it claims, because another worker may be claiming the first ones at this moment. */
const unstartedSql = `
  with waiting as materialized (
    select task_id, account_id, next_check_at,
      row_number() over (partition by account_id order by next_check_at) as turn
    from task
    where status in ('queued', 'processing') and next_check_at <= now()
      and started_at is null and deadline_at > now() and family = $1 and open_attempt is null
      and not ${standsInLineSql}
  ), calling as materialized (
    select account_id, count(*) as calls from attempt join task using (task_id)
    where closed_at is null group by account_id
  ), chosen as materialized (
    select task_id as chosen_id, turn + coalesce(calls, 0) as turn_of_all
    from waiting left join calling using (account_id)
    order by turn_of_all, next_check_at limit 4 * $2
  ), due as materialized (
    select task_id as due_id from chosen join task on task_id = chosen_id
    where completed_at is null and next_check_at <= now() and started_at is null
    order by turn_of_all limit $2 for update of task skip locked
  )
  update task set checks = checks + 1, next_check_at = ${nextCheckSql(unstartedFirstMs)}
  from due where task_id = due_id
  returning ${startColumns}`

/** A due live task that has a run, or whose deadline has passed. */
export type DueTask = {
  readonly start: TaskStart
  readonly started: boolean
  /** How many attempts it has had. */
  readonly attempts: number
  readonly callOpen: boolean
  /** No call may be made any more, and none is waited for: past the deadline without an open call, or the hard end. */
  readonly pastEnd: boolean
  /** The hard end is long over, and at least one check after it could not end the task. */
  readonly graceOver: boolean
}

/** Claims due live tasks that have a run or are past their deadline, longest overdue first. */
export async function claimToCheck(pool: Pool, limit: number): Promise<readonly DueTask[]> {
  const { rows } = await pool.query<Row<TaskStart> & Omit<DueTask, 'start'>>({
    text: toCheckSql,
    values: [limit, unreadableStoreMsMax],
  })
  return rows.map(({ started, attempts, callOpen, pastEnd, graceOver, ...row }) => {
    return { start: defined(row), started, attempts, callOpen, pastEnd, graceOver }
  })
}

const toCheckSql = `
  with due as materialized (
    select task_id as due_id, next_check_at > hard_end_at as again from task
    where status in ('queued', 'processing') and next_check_at <= now()
      and (started_at is not null or deadline_at <= now())
    order by next_check_at limit $1 for update skip locked
  )
  update task set checks = checks + 1, next_check_at = ${nextCheckSql(startedFirstMs)}
  from due where task_id = due_id
  returning ${startColumns}, started_at is not null as started, attempts, open_attempt is not null as "callOpen",
    hard_end_at <= now() or deadline_at <= now() and open_attempt is null as "pastEnd",
    again and hard_end_at + $2::float8 * interval '1 millisecond' <= now() as "graceOver"`

/**
 * Records that the runs of tasks exist, and plans the first check of each task. Leaves out those of which a call has begun
 * in the run: `open_attempt` has marked them.
 */
export async function markStarted(pool: Pool, taskIds: readonly string[]): Promise<void> {
  await pool.query({
    name: 'mark-started',
    text: `update task set started_at = now(), checks = 1,
        next_check_at = least(deadline_at, now() + ${startedFirstMs} * interval '1 millisecond')
      where task_id = any($1) and started_at is null and completed_at is null`,
    values: [taskIds],
  })
}

/** Makes a live task without an open call due for a check after `delayMs`, unless it is due before. */
export async function makeDue(pool: Pool, taskId: string, delayMs = 0): Promise<void> {
  const at = `now() + $2::float8 * interval '1 millisecond'`
  await pool.query({
    name: 'make-due',
    text: `update task set next_check_at = ${at}, checks = 0
      where task_id = $1 and next_check_at > ${at} and completed_at is null and open_attempt is null`,
    values: [taskId, delayMs],
  })
}
