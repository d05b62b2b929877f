import type { ModelId } from '../../domain/models/models.ts'
import { downloadGraceSql, unusedAnswerKeptSql } from './lifetimes.ts'
import { isSyncSql } from '../taskRow.ts'

/** The columns of an ended task that `tailSql` reads, besides `channel`: that of its answer, or of its last attempt. */
export const endedSql = `task_id, account_id, key_id, route, model, credits, refunded, retry_of, status, created_at,
      completed_at, hard_end_at, expires_at, retry_until, answer_id, failure_code, failure_cause, work_possible,
      case status when 'failed' then credits else refunded end as returned`

/** What the statement of an end returns of the task that it has ended. */
export type EndedRow = {
  readonly taskId: string
  readonly model: ModelId
  /** The credits that went back because the image is smaller than asked. */
  readonly refunded: number
}

/** The condition on `done` that its balance changes. A free task that fails locks it too, as every release does. */
const returnsSql = `(done.status = 'failed' or done.refunded > 0)`

/**
 * What every end does, from the part `done` that has ended the task: writes the ledger entry, and a second one for a
 * refund, which a settlement makes whose image is smaller than asked. Gives what returns, a release or a refund, to the
 * budget of its key and to the balance, and writes the deliveries to webhooks. Makes the uploads due for the sweep:
 * the published answer after its image has expired, inputs when no retry can need them, and other answers when no
 * worker can store them any more. A synchronous task that failed before it did work frees its key, so that the next
 * request with the key starts a new task, and also one whose client is told to try again later. A cancel that somebody
 * asked for is final.
 *
 * The balance is locked after the budget. When something returns and does not change it, the statement fails and undoes
 * everything.
 */
export const tailSql = `
  entry as (
    insert into ledger (account_id, task_id, kind, credits, key_id, model, channel, created_at)
    select account_id, task_id, moved.kind, moved.credits, key_id, model, channel, completed_at
    from done, lateral (values
      (case status when 'succeeded' then 'settle' else 'release' end, done.credits - refunded), ('refund', refunded)
    ) as moved (kind, credits)
    where moved.kind <> 'refund' or refunded > 0
    returning credits
  ), unused as (
    update budget_use set used = greatest(0, used - returned) from done
    where ${returnsSql} and done.retry_of is null and budget_use.key_id = done.key_id
      and done.created_at >= starts_at and done.created_at < ends_at
    returning 1
  ), balanced as (
    update balance set available = available + returned
    from done, (select count(*) from entry) as after_entry, (select count(*) from unused) as after_unused
    where balance.account_id = done.account_id and ${returnsSql}
    returning 1
  ), deliveries as (
    insert into webhook_delivery (webhook_id, task_id, event)
    select webhook_id, done.task_id, 'task.' || done.status
    from done join webhook using (account_id)
    where webhook.status = 'active' and 'task.' || done.status = any(webhook.events)
  ), uploads as (
    update upload set sweep_after = case
        when upload_id = done.answer_id then done.expires_at + ${downloadGraceSql}
        when kind = 'input' then coalesce(done.retry_until, done.completed_at)
        else done.hard_end_at + ${unusedAnswerKeptSql} end
    from done where upload.task_id = done.task_id
  ), freed as (
    delete from idempotency_key using done
    where idempotency_key.task_id = done.task_id and done.status = 'failed'
      and ${isSyncSql}
      and done.failure_cause <> 'cancelled'
      and (not done.work_possible or done.failure_code = 'rate_limit_exceeded')
  )
  select task_id as "taskId", model, refunded,
    case when ${returnsSql} and not exists (select from balanced) then refuse('balance') end as refused
  from done`
