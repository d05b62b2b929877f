import { Connection, isGrpcServiceError } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { setTimeout as sleep } from 'node:timers/promises'

const callTimeoutMs = 3_000
const pollMs = 100
const grpcNotFound = 5
/**
 * At least 9 days: a closed run must stay findable for as long as the idempotency key of its task
 * lives (design section 1, lifetimes).
 */
const retentionSeconds = 9 * 86_400
/** The namespace of the embedded stack. */
export const embeddedNamespace = 'default'

/**
 * Makes sure that Temporal serves and has the namespace. Tries until `isOver` says so; returns
 * undefined when all is well, otherwise the last reason.
 */
export const awaitTemporal = async (
  address: string,
  isOver: () => boolean,
): Promise<string | undefined> => {
  let reason = 'it was never asked'
  while (!isOver()) {
    try {
      await ensureServing(address)
      return undefined
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error)
      await sleep(pollMs)
    }
  }
  return reason
}

const ensureServing = async (address: string): Promise<void> => {
  const connection = await Connection.connect({ address, connectTimeout: callTimeoutMs })
  try {
    await connection.withDeadline(Date.now() + callTimeoutMs, async () => {
      await ensureNamespace(connection)
      await ensureHistoryAndMatching(connection)
    })
  } finally {
    await connection.close()
  }
}

const ensureNamespace = async ({ workflowService }: Connection): Promise<void> => {
  const namespace = embeddedNamespace
  const workflowExecutionRetentionPeriod = msToTs(retentionSeconds * 1000)
  try {
    const found = await workflowService.describeNamespace({ namespace })
    const seconds = Number(found.config?.workflowExecutionRetentionTtl?.seconds ?? 0)
    if (seconds >= retentionSeconds) return
    const config = { workflowExecutionRetentionTtl: workflowExecutionRetentionPeriod }
    await workflowService.updateNamespace({ namespace, config })
  } catch (error) {
    if (!isNotFound(error)) throw error
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
  }
}

// The frontend answers before the services behind it do. A workflow that does not exist is looked up
// in history, a queue that nobody polls is described by matching.
const ensureHistoryAndMatching = async ({ workflowService }: Connection): Promise<void> => {
  const namespace = embeddedNamespace
  try {
    const execution = { workflowId: 'readiness-probe' }
    await workflowService.describeWorkflowExecution({ namespace, execution })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: 'readiness-probe' },
  })
}

const isNotFound = (error: unknown): boolean => {
  if (!isGrpcServiceError(error)) return false
  const code: number = error.code
  return code === grpcNotFound
}
