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
