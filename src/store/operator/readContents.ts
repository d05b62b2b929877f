import type { ClientBase } from 'pg'
import type { ImageMimeType } from '../../domain/models/models.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import { isKept } from '../tasks/readTask.ts'

/** Reads what a client asked for. `undefined`: it is no longer stored. `unknown`: there is no such task. */
export async function readRequest(
  client: ClientBase,
  taskId: string,
): Promise<ImageRequest | 'unknown' | undefined> {
  const { rows } = await client.query<{ readonly request: string | null }>(
    `select request from task where task_id = $1 and ${isKept}`,
    [taskId],
  )
  const [row] = rows
  if (row === undefined) return 'unknown'
  if (row.request === null) return undefined
  const request: ImageRequest = JSON.parse(row.request)
  return request
}

type StoredAnswer = { readonly answerId: string; readonly mimeType: ImageMimeType }

/** Reads where a task's image is. `undefined`: there is none, or it has expired. `unknown`: there is no such task. */
export async function readImage(
  client: ClientBase,
  taskId: string,
): Promise<StoredAnswer | 'unknown' | undefined> {
  const { rows } = await client.query<{
    readonly answerId: string | null
    readonly mimeType: ImageMimeType
  }>(
    `select case when expires_at > now() then answer_id end as "answerId", asset_mime_type as "mimeType"
     from task where task_id = $1 and ${isKept}`,
    [taskId],
  )
  const [row] = rows
  if (row === undefined) return 'unknown'
  const { answerId, mimeType } = row
  return answerId === null ? undefined : { answerId, mimeType }
}
