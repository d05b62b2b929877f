import type { Pool } from 'pg'
import type { JsonObject } from '../domain/imageRequest.ts'

/** The model's own refusal of a task, as `closeAttempt` wrote it; `undefined` for every other task. */
export async function readNativeRefusal(
  pool: Pool,
  taskId: string,
): Promise<JsonObject | undefined> {
  const { rows } = await pool.query<{ refusal: string | null }>({
    name: 'read-native-refusal',
    text: 'select native_refusal as refusal from task where task_id = $1',
    values: [taskId],
  })
  const refusal = rows[0]?.refusal ?? undefined
  if (refusal === undefined) return undefined
  const written: JsonObject = JSON.parse(refusal)
  return written
}
