import type { Pool } from 'pg'

/**
 * Deletes the rows of taken uploads, after their blobs: a row outlives what it points to. With the bytes of
 * a published answer goes what the model said around them.
 */
export function createForgetUploads(deps: { readonly pool: Pool }) {
  return async (uploadIds: readonly string[]): Promise<void> => {
    await deps.pool.query({
      name: 'forget-uploads',
      text: `
        with gone as (
          delete from upload where upload_id = any($1) and sweep_after = '-infinity'
          returning upload_id, task_id
        )
        update task set native_response = null from gone
        where task.task_id = gone.task_id and task.answer_id = gone.upload_id`,
      values: [uploadIds],
    })
  }
}
