import type { Pool } from 'pg'
import type { NativeResponse } from '../domain/upstreamOutcome.ts'

/** The native response of a succeeded task, as `settleTask` wrote it; `undefined` once its bytes are gone. */
export async function readNativeResponse(
  pool: Pool,
  taskId: string,
): Promise<NativeResponse | undefined> {
  const { rows } = await pool.query<{ native: string | null }>({
    name: 'read-native-response',
    text: 'select native_response as native from task where task_id = $1',
    values: [taskId],
  })
  const native = rows[0]?.native ?? undefined
  if (native === undefined) return undefined
  const written: NativeResponse = JSON.parse(native)
  return written
}
