import type { PoolClient } from 'pg'
import { isKept } from '../taskRow.ts'

/**
 * What `expireTask` did or found.
 * - `expired`: nothing of the task is served any more. `uploadIds` are the uploads whose blobs must now be deleted.
 * - `live`: the task has not ended.
 * - `missing`: there is no such task, or it is due for the purge.
 */
export type ExpireResult =
  | { readonly kind: 'expired'; readonly uploadIds: readonly string[] }
  | { readonly kind: 'live' | 'missing' }

/**
 * Ends now what is kept of an ended task: its image expires, and its request, native response and rejection are deleted.
 * Its uploads count as taken by the sweep, which deletes their blobs after `retryMs` if the caller has not. With
 * `accountId`, only a task of that account. Again it does the same.
 *
 * The task is locked first, so that an end under way is seen, and no retry takes its source images over meanwhile.
 */
export async function expireTask(
  client: PoolClient,
  taskId: string,
  accountId?: string,
): Promise<ExpireResult> {
  const { rows } = await client.query<{ readonly hasEnded: boolean }>({
    name: 'lock-ended-task',
    text: `select completed_at is not null as "hasEnded" from task
      where task_id = $1 and ($2::text is null or account_id = $2) and ${isKept} for update`,
    values: [taskId, accountId ?? null],
  })
  if (rows[0]?.hasEnded !== true) return { kind: rows[0] === undefined ? 'missing' : 'live' }
  const uploads = await client.query<{ readonly uploadId: string }>({
    name: 'expire-task',
    text: expireSql,
    values: [taskId, retryMs],
  })
  return { kind: 'expired', uploadIds: uploads.rows.map(({ uploadId }) => uploadId) }
}

/** Longer than `deleteUploads` takes. */
const retryMs = 60_000

/** The time is that after the lock, so that no image expires before it was published. */
const expireSql = `
  with expired as (
    update task set request = null, retry_until = null, retry_bytes = null,
      native_response = null, native_rejection = null,
      expires_at = case status when 'succeeded' then least(expires_at, clock_timestamp()) end
    where task_id = $1
  )
  update upload set sweep_after = '-infinity',
    next_try_at = clock_timestamp() + $2::float8 * interval '1 millisecond'
  where task_id = $1
  returning upload_id as "uploadId"`
