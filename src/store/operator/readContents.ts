import type { ClientBase } from 'pg'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import { isKept } from '../taskRow.ts'

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
