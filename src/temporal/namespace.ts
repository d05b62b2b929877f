import { msToTs } from '@temporalio/common/lib/time.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { searchAttributes } from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

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

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keywordType = 2

const names = Object.values(searchAttributes).map(({ name }) => name)

/**
 * Registers what is missing and waits until every frontend knows it: a start that names an unknown
 * attribute is refused (design section 5). Returns the names it added. Throws when Temporal refuses.
 */
export async function registerSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const missing = await missingSearchAttributes(temporal)
  if (missing.length === 0) return []
  const { client, namespace, within } = temporal
  await within(timeoutMs, () =>
    client.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
    }),
  )
  await untilAnswered(() =>
    within(timeoutMs, () =>
      client.workflow.count(names.map((name) => `${name} = 'none'`).join(' AND ')),
    ),
  )
  return missing
}

/** Attributes that `migrate` has still to register. Throws when Temporal cannot tell. */
export async function missingSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  const { client, namespace, within } = temporal
  const { customAttributes } = await within(timeoutMs, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  )
  return names.filter((name) => Number(customAttributes[name]) !== keywordType)
}

/**
 * Whether a start would be refused for want of an attribute. Once seen they are not asked for again: a
 * later outage of Temporal is no matter of readiness. Throws while Temporal cannot tell.
 */
export function createAttributesKnown(temporal: Temporal): () => Promise<boolean> {
  let known = false
  return async () => {
    known ||= (await missingSearchAttributes(temporal)).length === 0
    return known
  }
}

const limitMs = 30_000
const pauseMs = 500

/**
 * Repeats a question until it is answered: the server's frontends learn of a new namespace or search
 * attribute some seconds after it was made. After 30 s, the last error.
 */
export async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  const endsAtMs = performance.now() + limitMs
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
