import type { Pool } from 'pg'

/** Deletes the rows of taken uploads, after their blobs: a row outlives what it points to. */
export function createForgetUploads(deps: { readonly pool: Pool }) {
  return async (uploadIds: readonly string[]): Promise<void> => {
    await deps.pool.query({
      name: 'forget-uploads',
      text: `delete from upload where upload_id = any($1) and sweep_after = '-infinity'`,
      values: [uploadIds],
    })
  }
}
