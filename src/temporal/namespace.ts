import { msToTs } from '@temporalio/common/lib/time.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { searchAttributes } from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

const timeoutMs = 5_000

/**
 * The minimum time for which Temporal keeps the history of an ended workflow. Nine days is longer than a
 * task's row is kept by default. If Temporal deleted a history sooner, the workflow's id would be free again,
 * and Temporal would accept a second start of the same task.
 */
export const retentionSecondsMin = 9 * 86_400

/**
 * Creates the namespace, or lengthens its retention when the retention is too short. Never shortens it. A
 * second call changes nothing. Throws when Temporal does not answer or answers with an error.
 */
export async function ensureNamespace(
  temporal: Temporal,
  options: { readonly retentionSeconds: number },
): Promise<'made' | 'lengthened' | 'present'> {
  const { client, namespace, withDeadline } = temporal
  const service = client.workflowService
  const wantedSeconds = Math.max(options.retentionSeconds, retentionSecondsMin)
  const retention = msToTs(wantedSeconds * 1_000)
  const presentSeconds = await retentionOf(temporal)
  if (presentSeconds === undefined) {
    const made = { namespace, workflowExecutionRetentionPeriod: retention }
    await withDeadline(timeoutMs, () => service.registerNamespace(made))
    await untilKnown(temporal)
    return 'made'
  }
  if (presentSeconds >= wantedSeconds) return 'present'
  const longer = { namespace, config: { workflowExecutionRetentionTtl: retention } }
  await withDeadline(timeoutMs, () => service.updateNamespace(longer))
  return 'lengthened'
}

/** Returns the retention of the namespace in seconds, or `undefined` when there is no such namespace. */
async function retentionOf(temporal: Temporal): Promise<number | undefined> {
  const { client, namespace, withDeadline } = temporal
  try {
    const { config } = await withDeadline(timeoutMs, () =>
      client.workflowService.describeNamespace({ namespace }),
    )
    return config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0
  } catch (error) {
    if (grpcReason(error) === 'NOT_FOUND') return undefined
    throw error
  }
}

/** The value of `INDEXED_VALUE_TYPE_KEYWORD` in Temporal's API. */
const keywordType = 2

const names = Object.values(searchAttributes).map(({ name }) => name)

/**
 * Registers those search attributes of `workflows/contract.ts` that are missing, and returns their names. Waits until
 * the server accepts queries with these names, because the server rejects a workflow start with an attribute it does
 * not know. Throws when Temporal does not answer or answers with an error.
 */
export async function registerSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const missing = await missingSearchAttributes(temporal)
  if (missing.length === 0) return []
  const { client, namespace, withDeadline } = temporal
  const added = Object.fromEntries(missing.map((name) => [name, keywordType]))
  await withDeadline(timeoutMs, () =>
    client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }),
  )
  await untilKnown(temporal, names.map((name) => `${name} = 'none'`).join(' AND '))
  return missing
}

/** Returns the search attributes that `migrate` has not registered yet. Throws when Temporal does not answer. */
export async function missingSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const { client, namespace, withDeadline } = temporal
  const { customAttributes } = await withDeadline(timeoutMs, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  )
  return names.filter((name) => Number(customAttributes[name]) !== keywordType)
}

const retryMsMax = 30_000
const pauseMs = 500

/**
 * Repeats a query until it succeeds: the frontends of the Temporal server know a new namespace or search attribute only
 * some seconds after it was created. Throws the last error after 30 seconds.
 */
async function untilKnown({ client, withDeadline }: Temporal, query?: string): Promise<void> {
  const endsAtMs = performance.now() + retryMsMax
  for (;;) {
    try {
      await withDeadline(timeoutMs, () => client.workflow.count(query))
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
    }
    await sleep(pauseMs)
  }
}
