import { msToTs } from '@temporalio/common/lib/time.js'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'
import { untilAnswered } from './untilAnswered.ts'

const timeoutMs = 5_000

/** Design, lifetimes: longer than any record, so that a workflow id is never free while its task lives. */
export const retentionSecondsMin = 9 * 86_400

/**
 * Makes the namespace, or lengthens the retention of one that forgets too soon; never shortens. Repeating
 * it changes nothing. Throws when Temporal is away or refuses.
 */
export async function ensureNamespace(
  temporal: Temporal,
  options: { readonly retentionSeconds: number },
): Promise<'made' | 'lengthened' | 'present'> {
  const { client, namespace, within } = temporal
  const wantedSeconds = Math.max(options.retentionSeconds, retentionSecondsMin)
  const workflowExecutionRetentionTtl = msToTs(wantedSeconds * 1_000)
  const presentSeconds = await retentionOf(temporal)
  if (presentSeconds === undefined) {
    await within(timeoutMs, () =>
      client.workflowService.registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: workflowExecutionRetentionTtl,
      }),
    )
    await untilAnswered(() => within(timeoutMs, () => client.workflow.count()))
    return 'made'
  }
  if (presentSeconds >= wantedSeconds) return 'present'
  await within(timeoutMs, () =>
    client.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl },
    }),
  )
  return 'lengthened'
}

async function retentionOf(temporal: Temporal): Promise<number | undefined> {
  const { client, namespace, within } = temporal
  try {
    const { config } = await within(timeoutMs, () =>
      client.workflowService.describeNamespace({ namespace }),
    )
    return config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
