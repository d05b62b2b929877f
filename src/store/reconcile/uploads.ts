import type { Pool } from 'pg'

/** Records a place for inputs before their first byte is written; swept by this row only. */
export async function openUpload(
  pool: Pool,
  uploadId: string,
  sweepAfterMs: number,
): Promise<void> {
  await pool.query({
    name: 'open-upload',
    text: `insert into upload (upload_id, kind, sweep_after)
      values ($1, 'input', now() + $2::float8 * interval '1 millisecond')`,
    values: [uploadId, sweepAfterMs],
  })
}

/** Gives a staged upload up for the next sweep. One that a task has taken over is left alone. */
export async function discardUpload(pool: Pool, uploadId: string): Promise<void> {
  await pool.query({
    name: 'discard-upload',
    text: 'update upload set sweep_after = now() where upload_id = $1 and task_id is null',
    values: [uploadId],
  })
}

/**
 * Takes uploads whose time has come, the longest due first. From here on a task that wants to take a staged
 * one over finds its time passed (`sweep_after > now()` is its condition): nobody's blobs are deleted
 * under him. What is taken and not forgotten, after a crash or because it could not be deleted, is
 * due again after `retryMs`: so it stands before nobody.
 */
export function createTakeUploads(deps: { readonly pool: Pool }) {
  return async (limit: number, retryMs: number): Promise<readonly string[]> => {
    const { rows } = await deps.pool.query<{ uploadId: string }>({
      name: 'take-uploads',
      text: `update upload set sweep_after = '-infinity',
          next_try_at = now() + $2::float8 * interval '1 millisecond'
        where upload_id in (
          select upload_id from upload where coalesce(next_try_at, sweep_after) <= now()
          order by coalesce(next_try_at, sweep_after) limit $1 for update skip locked)
        returning upload_id as "uploadId"`,
      values: [limit, retryMs],
    })
    return rows.map(({ uploadId }) => uploadId)
  }
}

/**
 * Deletes the rows of taken uploads, after their blobs: a row outlives what it points to. With the bytes of
 * a published answer goes what the model said around them.
 */
export function createForgetUploads(deps: { readonly pool: Pool }) {
  return async (uploadIds: readonly string[]): Promise<void> => {
    // The task first, and apart: whoever locks both, locks the task before its uploads.
    await deps.pool.query({
      name: 'forget-native-responses',
      text: `update task set native_response = null from upload
        where upload.upload_id = any($1) and upload.sweep_after = '-infinity'
          and task.task_id = upload.task_id and task.answer_id = upload.upload_id
          and task.native_response is not null`,
      values: [uploadIds],
    })
    await deps.pool.query({
      name: 'forget-uploads',
      text: `delete from upload where upload_id = any($1) and sweep_after = '-infinity'`,
      values: [uploadIds],
    })
  }
}

/**
 * Deletes records whose time has come, with their attempts and their key, which is free again from then
 * on (design, lifetimes). What is left of their uploads is swept next. The ledger stays.
 */
export function createPurgeTasks(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<number> => {
    const { rows } = await deps.pool.query<{ purged: number }>({
      name: 'purge-tasks',
      text: purgeSql,
      values: [limit],
    })
    return rows[0]?.purged ?? 0
  }
}

const purgeSql = `
  with gone as (
    delete from task where task_id in (
      select task_id from task where purge_at <= now()
      order by purge_at limit $1 for update skip locked)
    returning task_id
  ), uploads as (
    update upload set sweep_after = least(sweep_after, now())
    from gone where upload.task_id = gone.task_id
  )
  select count(*)::int as purged from gone`
