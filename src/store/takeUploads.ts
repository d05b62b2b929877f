import type { Pool } from 'pg'

/**
 * Takes uploads whose time has come. From here on a task that wants to take a staged one over finds its
 * time passed (`sweep_after > now()` is its condition): nobody's blobs are deleted under him. What is
 * taken and not forgotten, after a crash, is taken again.
 */
export function createTakeUploads(deps: { readonly pool: Pool }) {
  return async (limit: number): Promise<readonly string[]> => {
    const { rows } = await deps.pool.query<{ uploadId: string }>({
      name: 'take-uploads',
      text: `update upload set sweep_after = '-infinity'
        where upload_id in (
          select upload_id from upload where sweep_after <= now()
          order by sweep_after limit $1 for update skip locked)
        returning upload_id as "uploadId"`,
      values: [limit],
    })
    return rows.map(({ uploadId }) => uploadId)
  }
}
