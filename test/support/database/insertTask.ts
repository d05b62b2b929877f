import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { newTaskId } from '../../../src/domain/ids.ts'
import type { ImageRequest, Route } from '../../../src/domain/tasks/imageRequest.ts'

export type InsertedTask = { readonly taskId: string; readonly accountId: string }

/**
 * Writes a live task with its hold directly into the tables, for tests of what happens to an accepted task.
 * The deadline and the hard end are in seconds from now.
 */
export async function insertTask(
  pool: Pool,
  given: {
    readonly accountId?: string
    readonly credits?: number
    readonly route?: Route
    readonly prompt?: string
    readonly deadlineSeconds?: number
    readonly hardEndSeconds?: number
  } = {},
): Promise<InsertedTask> {
  const taskId = newTaskId()
  const accountId = given.accountId ?? `acct_${randomBytes(8).toString('hex')}`
  const credits = given.credits ?? 10
  const route = given.route ?? 'images.tasks'
  const request: ImageRequest = {
    route,
    family: 'B',
    model: 'familyb-image-2-vip',
    action: 'generate',
    body: { kind: 'prompt', prompt: given.prompt ?? 'a lighthouse' },
    inputs: [],
  }
  await pool.query(
    `with owner as (
       insert into account (account_id, name) values ($2, $2) on conflict do nothing
     ), paid as (
       insert into balance (account_id, available, deposited) values ($2, 1000 - $5::bigint, 1000)
       on conflict (account_id) do update set available = balance.available - $5::bigint
     ), entry as (
       insert into ledger (account_id, task_id, kind, credits, key_id)
       values ($2, $1, 'hold', $5, 'key_x')
     )
     insert into task (task_id, account_id, key_id, route, family, model, action, request, fingerprint,
       credits, deadline_at, hard_end_at)
     values ($1, $2, 'key_x', $3, 'B', 'familyb-image-2-vip', 'generate', $4, '\\x00', $5,
       now() + $6 * interval '1 second', now() + $7 * interval '1 second')`,
    [
      taskId,
      accountId,
      route,
      JSON.stringify(request),
      credits,
      given.deadlineSeconds ?? 600,
      given.hardEndSeconds ?? 900,
    ],
  )
  return { taskId, accountId }
}
