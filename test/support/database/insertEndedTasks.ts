import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { createModelTable } from '../../../src/domain/models/modelTable.ts'
import type { ModelId } from '../../../src/domain/models/models.ts'
import type { CalmService } from '../service/calmService.ts'

export type EndedTasks = {
  readonly accountId: string
  readonly count: number
  readonly keyId?: string
  /** A name that is gone from the operator's file is of family B. */
  readonly model?: ModelId
  /** The channel of the ends. Null: the tasks had no attempt. */
  readonly channel?: string | null
  readonly status?: 'succeeded' | 'failed'
  /** The price of each task. */
  readonly credits?: number
  /** When the first task was created and ended, as PostgreSQL reads it. Default `now()`. */
  readonly at?: string
  /** The time from one task to the next, as PostgreSQL reads it. Default 0: all at the same moment. */
  readonly every?: string
}

/** Makes an account, and a function that inserts ended tasks of it. */
export async function newTaskOwner({ account, pool }: Pick<CalmService, 'account' | 'pool'>) {
  const owner = await account()
  const { accountId } = owner
  const insert = (given: Omit<EndedTasks, 'accountId'>) =>
    insertEndedTasks(pool, { ...given, accountId })
  return { owner, accountId, insert }
}

/**
 * Writes ended tasks with their ledger rows and the balance of their account directly into the tables. Returns
 * their ids in the order of their creation. Each task was created when it ended.
 */
export async function insertEndedTasks(pool: Pool, given: EndedTasks): Promise<readonly string[]> {
  const { accountId, count, keyId = 'key_x', model = 'familyb-image-2-vip' } = given
  const { status = 'succeeded', credits = 1, at = 'now()', every = '0', channel = 'b-main' } = given
  const prefix = `task_${randomBytes(12).toString('hex')}`
  const values = [
    accountId,
    prefix,
    keyId,
    model,
    credits,
    createModelTable().get(model)?.family ?? 'B',
    every,
    at,
    count,
    channel,
  ]
  const { rows } = await pool.query<{ taskId: string }>(
    `with made as materialized (
       select $2 || lpad(n::text, 8, '0') as id, $8::timestamptz + n * $7::interval as at
       from generate_series(0, $9::int - 1) n
     ), tasks as (
       insert into task (task_id, account_id, key_id, route, family, model, action, fingerprint, credits,
         created_at, completed_at, expires_at, purge_at, deadline_at, hard_end_at, status,
         ${status === 'succeeded' ? 'answer_id, asset_mime_type, asset_bytes, asset_sha256' : 'failure_code, failure_cause'})
       select id, $1, $3, 'images.tasks', $6, $4, 'generate', '\\x00', $5, at, at,
         now() + interval '1 day', now() + interval '8 days', at, at, '${status}',
         ${status === 'succeeded' ? `'an' || id, 'image/png', 1, 'ab'` : `'upstream_error', 'unknown'`}
       from made
     ), holds as (
       insert into ledger (account_id, task_id, kind, credits, key_id, created_at)
       select $1, id, 'hold', $5, $3, at from made
     ), ends as (
       insert into ledger (account_id, task_id, kind, credits, key_id, model, channel, created_at)
       select $1, id, '${status === 'succeeded' ? 'settle' : 'release'}', $5, $3, $4, $10::text, at from made
     ), paid as (
       update balance set available = available - $5::bigint * $9
       where account_id = $1 and '${status}' = 'succeeded'
     )
     select id as "taskId" from made order by at, id`,
    values,
  )
  return rows.map(({ taskId }) => taskId)
}
