import { CommandError } from '../cli/answer.ts'
import type { FetchHistory, MigrateReport } from '../cli/context.ts'
import type { Config } from '../config.ts'
import type { Temporal } from '../temporal/connect.ts'

/**
 * Limit for reaching Temporal. The CLI must report an unreachable Temporal within 5 s, and loading Temporal's
 * client takes some of this time.
 */
const reachTimeoutMs = 2_000

/**
 * Creates the namespace and the search attributes, or updates them. Returns `undefined` when TEMPORAL_ADDRESS
 * is not set. Throws `CommandError` when Temporal cannot be reached or answers with an error.
 */
export async function migrateTemporal(config: Config): Promise<MigrateReport['temporal']> {
  const address = config.temporalAddress
  if (address === undefined) return undefined
  const temporal = await connect(config, address)
  const { ensureNamespace, registerSearchAttributes } = await import('../temporal/namespace.ts')
  try {
    await temporal.withDeadline(reachTimeoutMs, () =>
      temporal.client.workflowService.getSystemInfo({}),
    )
    const retentionSeconds = config.retentionSeconds + config.tombstoneSeconds
    const state = await ensureNamespace(temporal, { retentionSeconds })
    const searchAttributes = await registerSearchAttributes(temporal)
    return { namespace: temporal.namespace, state, searchAttributes }
  } catch (error) {
    throw temporalError(address, error)
  } finally {
    await temporal.close()
  }
}

/**
 * Cancels the workflow of a task that is already cancelled in PostgreSQL. Does nothing when TEMPORAL_ADDRESS
 * is not set, because the workflow notices the end of its task by itself a little later.
 */
export async function cancelWorkflowOf(config: Config, taskId: string): Promise<void> {
  if (config.temporalAddress === undefined) return
  const { cancelWorkflow } = await import('../temporal/runs.ts')
  const temporal = await connect(config, config.temporalAddress)
  try {
    await cancelWorkflow(temporal, taskId)
  } finally {
    await temporal.close()
  }
}

/**
 * Returns the function that reads histories. This function throws `CommandError`, which names
 * TEMPORAL_ADDRESS, when Temporal cannot be reached.
 */
export async function fetchHistoryOf(config: Config): Promise<FetchHistory> {
  const { required } = await import('../config.ts')
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const { fetchHistory } = await import('../temporal/runs.ts')
  return async (taskId) => {
    const temporal = await connect(config, address)
    try {
      await temporal.withDeadline(reachTimeoutMs, () =>
        temporal.client.workflowService.getSystemInfo({}),
      )
      return await fetchHistory(temporal, taskId)
    } catch (error) {
      throw temporalError(address, error)
    } finally {
      await temporal.close()
    }
  }
}

/** Connects to Temporal. Imports Temporal's client here, so that only the commands that use it load it. */
async function connect(config: Config, address: string): Promise<Temporal> {
  const { connectTemporal, temporalSettings } = await import('../temporal/connect.ts')
  return connectTemporal(temporalSettings({ address, namespace: config.temporalNamespace }))
}

function temporalError(address: string, error: unknown): CommandError {
  const reason = error instanceof Error ? error.message : 'no connection'
  return new CommandError(`Temporal at ${address} (TEMPORAL_ADDRESS) failed: ${reason}`)
}
