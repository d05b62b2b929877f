import type { FetchHistory, MigrateReport } from '../cli/context.ts'
import { Refusal } from '../cli/answer.ts'
import type { Config } from '../config.ts'
import type { Temporal } from '../temporal/connect.ts'

/** Temporal's client is loaded only by the few commands that talk to it; never the worker's SDK. */
async function connect(config: Config, address: string): Promise<Temporal> {
  const { connectTemporal } = await import('../temporal/connect.ts')
  const { temporalSettings } = await import('../temporal/connect.ts')
  return connectTemporal(temporalSettings({ address, namespace: config.temporalNamespace }))
}

/** An unreachable part is to be told of within 5 s, of which loading takes a share. */
const reachTimeoutMs = 2_000

/** Namespace retention and search attributes; without TEMPORAL_ADDRESS nothing, and `undefined`. */
export async function migrateTemporal(config: Config): Promise<MigrateReport['temporal']> {
  const address = config.temporalAddress
  if (address === undefined) return undefined
  const temporal = await connect(config, address)
  const { ensureNamespace } = await import('../temporal/namespace.ts')
  const { registerSearchAttributes } = await import('../temporal/namespace.ts')
  try {
    await temporal.withDeadline(reachTimeoutMs, () =>
      temporal.client.workflowService.getSystemInfo({}),
    )
    const retentionSeconds = config.retentionSeconds + config.tombstoneSeconds
    const state = await ensureNamespace(temporal, { retentionSeconds })
    const searchAttributes = await registerSearchAttributes(temporal)
    return { namespace: temporal.namespace, state, searchAttributes }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no connection'
    throw new Refusal(`Temporal at ${address} (TEMPORAL_ADDRESS) failed: ${reason}`)
  } finally {
    await temporal.close()
  }
}

/** Best effort: the task is cancelled already, its workflow notices by itself a little later. */
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

/** Histories of tasks. Throws `Refusal` naming TEMPORAL_ADDRESS when nothing answers there. */
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
      const reason = error instanceof Error ? error.message : 'no connection'
      throw new Refusal(`Temporal at ${address} (TEMPORAL_ADDRESS) failed: ${reason}`)
    } finally {
      await temporal.close()
    }
  }
}
