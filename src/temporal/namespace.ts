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
 * second call changes nothing. Throws when Temporal does not answer or answers with an error; where it does not let this
 * client make the change, the error names the command to run instead.
 */
export async function ensureNamespace(
  temporal: Temporal,
  options: { readonly retentionSeconds: number },
): Promise<'made' | 'lengthened' | 'present'> {
  const { client, namespace } = temporal
  const service = client.workflowService
  const wantedSeconds = Math.max(options.retentionSeconds, retentionSecondsMin)
  const retention = msToTs(wantedSeconds * 1_000)
  const presentSeconds = await retentionOf(temporal)
  const given = `--namespace ${namespace} --retention-days ${Math.ceil(wantedSeconds / 86_400)}`
  if (presentSeconds === undefined) {
    await change(temporal, {
      call: () =>
        service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention }),
      title: `create the namespace ${namespace}`,
      command: `tcld namespace create ${given} --region REGION`,
    })
    await untilKnown(temporal)
    return 'made'
  }
  if (presentSeconds >= wantedSeconds) return 'present'
  await change(temporal, {
    call: () =>
      service.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: retention } }),
    title: `lengthen the retention of ${namespace}`,
    command: `tcld namespace retention set ${given}`,
  })
  return 'lengthened'
}

/**
 * Changes what Temporal Cloud leaves to its own tool, [tcld](https://docs.temporal.io/cloud/tcld/): where Temporal
 * does not let this client make the change, the error names the command.
 */
async function change(
  { withDeadline }: Temporal,
  given: {
    readonly call: () => Promise<unknown>
    readonly title: string
    readonly command: string
  },
): Promise<void> {
  try {
    await withDeadline(timeoutMs, given.call)
  } catch (error) {
    if (!['PERMISSION_DENIED', 'UNIMPLEMENTED'].includes(grpcReason(error))) throw error
    const message = `this client may not ${given.title}. With Temporal Cloud, run: ${given.command}`
    throw new Error(message, { cause: error })
  }
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
  const { client, namespace } = temporal
  const added = Object.fromEntries(missing.map((name) => [name, keywordType]))
  const each = missing.map((name) => `--sa ${name}=Keyword`).join(' ')
  await change(temporal, {
    call: () =>
      client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }),
    title: 'add search attributes',
    command: `tcld namespace search-attributes add --namespace ${namespace} ${each}`,
  })
  await untilKnown(temporal, names)
  return missing
}

/**
 * Returns the search attributes that a query cannot name yet. It asks by queries, because Temporal Cloud lets no client
 * list the attributes. Throws when Temporal does not answer, or does not know the namespace.
 */
export async function missingSearchAttributes(temporal: Temporal): Promise<readonly string[]> {
  if (await knows(temporal, names)) return []
  const known = await Promise.all(names.map((name) => knows(temporal, [name])))
  return names.filter((_name, n) => known[n] === false)
}

/** Whether a query may name these search attributes. */
async function knows(
  { client, withDeadline }: Temporal,
  attributes: readonly string[],
): Promise<boolean> {
  const query = attributes.map((name) => `${name} = 'none'`).join(' AND ')
  try {
    await withDeadline(timeoutMs, () => client.workflow.count(query))
    return true
  } catch (error) {
    if (grpcReason(error) === 'INVALID_ARGUMENT') return false
    throw error
  }
}

const retryMsMax = 30_000
const pauseMs = 500

/**
 * Repeats a query until it succeeds: the frontends of the Temporal server know a new namespace or search attribute only
 * some seconds after it was created. Throws after 30 seconds.
 */
async function untilKnown(temporal: Temporal, attributes: readonly string[] = []): Promise<void> {
  const endsAtMs = performance.now() + retryMsMax
  for (;;) {
    try {
      if (await knows(temporal, attributes)) return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
    }
    if (performance.now() > endsAtMs) throw new Error('the new search attributes are not known')
    await sleep(pauseMs)
  }
}
