import { Worker } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvents, Replayed } from '../../domain/ports/taskRuns.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

/** The shortest history that the SDK can replay: the start event and Temporal's first workflow task. */
const eventsMin = 2
const replayMsMax = 30_000

/**
 * Replays one history against the workflow code of `bundle`, without a server and without side effects. Throws when
 * the history is too short, or when the replay takes longer than 30 s.
 */
export async function replayTask(bundle: WorkflowBundle, events: HistoryEvents): Promise<Replayed> {
  if (events.length < eventsMin) throw new Error('The history contains no workflow task.')
  const replay = replayHistories(bundle, [{ workflowId: 'replayed', history: { events } }])
  const late = sleep(replayMsMax, undefined, { ref: false }).then(() => {
    throw new Error(`The replay did not end within ${replayMsMax} ms.`)
  })
  const [result] = await Promise.race([replay, late])
  const error = result?.error
  return { events: events.length, ...(error === undefined ? {} : { reason: sentenceOf(error) }) }
}

/** Returns the sentence that names the difference. The SDK puts several layers of other text around it. */
function sentenceOf(error: string): string {
  const [, sentence] = /Nondeterminism error: (.*?)(?:", source:|$)/s.exec(error) ?? []
  return sentence ?? error
}

export type ReplayHistory = { readonly workflowId: string; readonly history: unknown }
type ReplayResult = {
  readonly workflowId: string
  /** Why the workflow code does not match the history: the message of Temporal's SDK. Absent when it matches. */
  readonly error?: string
}

/**
 * Replays recorded histories against the workflow code of `bundle`, without a server and without side
 * effects. `history` is in Temporal's JSON, as `darkroom task history` writes it.
 */
export async function replayHistories(
  bundle: WorkflowBundle,
  histories: readonly ReplayHistory[],
): Promise<readonly ReplayResult[]> {
  const results: ReplayResult[] = []
  const replays = Worker.runReplayHistories({ workflowBundle: bundle }, histories)
  for await (const { workflowId, error } of replays) {
    results.push({ workflowId, ...(error === undefined ? {} : { error: error.message }) })
  }
  return results
}
