import { Worker } from '@temporalio/worker'
import { withTimeout } from '../../domain/withTimeout.ts'
import { installRuntime } from './runtime.ts'
import type { WorkflowBundle } from './workflowBundle.ts'
import { workflowBundle } from './workflowBundle.ts'

/** The events of a workflow's history, in Temporal's JSON. */
export type HistoryEvents = readonly Readonly<Record<string, unknown>>[]

/** The shortest history that the SDK can replay: the start event and Temporal's first workflow task. */
const eventsMin = 2
const replayMsMax = 30_000
/** Time to write the error message before the process exits. */
const exitDelayMs = 500

/**
 * Replays a history with the workflow code of this checkout, without a server and without side effects. Returns the
 * SDK's message when the code would not have caused these events, else `undefined`. Throws when the history is too
 * short, or when the replay takes longer than 30 s. Then the process ends soon: the SDK's threads would keep it alive.
 */
export async function replayTask(events: HistoryEvents): Promise<string | undefined> {
  if (events.length < eventsMin) throw new Error('The history contains no workflow task.')
  try {
    installRuntime(() => {})
    const bundle = await workflowBundle()
    const replay = replayHistories(bundle, [{ workflowId: 'replayed', history: { events } }])
    const [result] = await withTimeout(replayMsMax, () => replay)
    const error = result?.error
    // The SDK puts several layers of other text around the sentence that names the difference.
    return /Nondeterminism error: (.*?)(?:", source:|$)/s.exec(error ?? '')?.[1] ?? error
  } catch (error) {
    setTimeout(() => process.exit(1), exitDelayMs).unref()
    throw error
  }
}

export type ReplayHistory = { readonly workflowId: string; readonly history: unknown }

/**
 * Replays recorded histories, in Temporal's JSON, with the workflow code of `workflowBundle`. `error` is the message
 * of Temporal's SDK, and absent when the code matches.
 */
export async function replayHistories(
  workflowBundle: WorkflowBundle,
  histories: readonly ReplayHistory[],
) {
  const results: { readonly workflowId: string; readonly error?: string }[] = []
  const replays = Worker.runReplayHistories({ workflowBundle }, histories)
  for await (const { workflowId, error } of replays) {
    results.push({ workflowId, ...(error === undefined ? {} : { error: error.message }) })
  }
  return results
}
