import type { Pool } from 'pg'

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
