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
  const wantedSeconds = Math.max(options.retentionSeconds, retentionSecondsMin)
  const workflowExecutionRetentionTtl = msToTs(wantedSeconds * 1_000)
  const presentSeconds = await retentionOf(temporal)
  if (presentSeconds === undefined) {
    await withDeadline(timeoutMs, () =>
      client.workflowService.registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: workflowExecutionRetentionTtl,
      }),
    )
    await retryUntilAnswered(() => withDeadline(timeoutMs, () => client.workflow.count()))
    return 'made'
  }
  if (presentSeconds >= wantedSeconds) return 'present'
  await withDeadline(timeoutMs, () =>
    client.workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl },
    }),
  )
  return 'lengthened'
}

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
  await withDeadline(timeoutMs, () =>
    client.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
    }),
  )
  await retryUntilAnswered(() =>
    withDeadline(timeoutMs, () =>
      client.workflow.count(names.map((name) => `${name} = 'none'`).join(' AND ')),
    ),
  )
  return missing
}

/**
 * Returns the search attributes that `migrate` has not registered yet. Throws when Temporal does not answer.
 */
export async function missingSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const { client, namespace, withDeadline } = temporal
  const { customAttributes } = await withDeadline(timeoutMs, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  )
  return names.filter((name) => Number(customAttributes[name]) !== keywordType)
}

/**
 * Returns a check for `/readyz`: whether all search attributes are registered. After the first `true`, the
 * check does not ask Temporal any more. So a later outage of Temporal does not make the process unready.
 * Before that, the check throws when Temporal does not answer.
 */
export function createSearchAttributesCheck(temporal: Temporal): () => Promise<boolean> {
  let registered = false
  return async () => {
    registered ||= (await missingSearchAttributes(temporal)).length === 0
    return registered
  }
}

const retryMsMax = 30_000
const pauseMs = 500

/**
 * Repeats a call until it succeeds. The frontends of the Temporal server know a new namespace or search
 * attribute only some seconds after it was created. Throws the last error after 30 seconds.
 */
async function retryUntilAnswered(ask: () => Promise<unknown>): Promise<void> {
  const endsAtMs = performance.now() + retryMsMax
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
    }
    await sleep(pauseMs)
  }
}
