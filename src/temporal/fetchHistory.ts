import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { workflowIdOf } from '../domain/ids.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const timeoutMs = 5_000

/**
 * The history of a task's newest run as Temporal's JSON, fit for its UI and for `replayHistories`.
 * `undefined`: Temporal knows no run of it. Throws when Temporal is away.
 */
export async function fetchHistory(
  temporal: Temporal,
  taskId: string,
): Promise<string | undefined> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowIdOf(taskId))
    return historyToJSON(await temporal.within(timeoutMs, () => handle.fetchHistory()))
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
