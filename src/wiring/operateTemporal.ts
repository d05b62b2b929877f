import type { Config } from '../config/environment.ts'
import { inheritedEnvironment, required } from '../config/environment.ts'
import type { Temporal } from '../temporal/connect.ts'
import { connectTemporal, temporalSettings } from '../temporal/connect.ts'
import { ensureNamespace, registerSearchAttributes } from '../temporal/namespace.ts'
import { cancelWorkflow, fetchHistory } from '../temporal/runs.ts'

// What commands do with Temporal. A command that needs it imports this file, and with it Temporal's client.

/**
 * Limit for reaching Temporal. The CLI must report an unreachable Temporal within 5 s, and loading Temporal's
 * client takes some of this time.
 */
const reachTimeoutMs = 2_000

/** Creates or updates the namespace and the search attributes. */
export function migrateTemporal(config: Config) {
  return withTemporal(config, async (temporal) => {
    const retentionSeconds = config.retentionSeconds + config.tombstoneSeconds
    const state = await ensureNamespace(temporal, { retentionSeconds })
    const added = await registerSearchAttributes(temporal)
    return { namespace: temporal.namespace, state, search_attributes: added }
  })
}

/** Returns the history of a task's newest run in Temporal's JSON, or `undefined` when there is no run. */
export function readHistory(config: Config, taskId: string): Promise<string | undefined> {
  return withTemporal(config, (temporal) => fetchHistory(temporal, taskId))
}

/**
 * Asks the runs of tasks that are already cancelled in PostgreSQL to end. Never throws, because a run notices the end
 * of its task by itself a little later.
 */
export async function cancelRuns(config: Config, taskIds: readonly string[]): Promise<void> {
  await withTemporal(config, async (temporal) => {
    for (const taskId of taskIds) await cancelWorkflow(temporal, taskId)
  }).catch(() => {})
}

/** Runs `work` with a connection. Throws an error that names TEMPORAL_ADDRESS, when Temporal fails. */
async function withTemporal<Value>(
  config: Config,
  work: (temporal: Temporal) => Promise<Value>,
): Promise<Value> {
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS')
  const temporal = connectTemporal(
    temporalSettings({ address, namespace: config.temporalNamespace }, inheritedEnvironment()),
  )
  try {
    const { client, withDeadline } = temporal
    await withDeadline(reachTimeoutMs, () => client.workflowService.getSystemInfo({}))
    return await work(temporal)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no connection'
    throw new Error(`Temporal at ${address} (TEMPORAL_ADDRESS) failed: ${reason}`, { cause: error })
  } finally {
    await temporal.close()
  }
}
