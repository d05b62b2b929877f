import { Worker } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvents, Replayed } from '../../domain/ports/taskRuns.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

/** The shortest history that the SDK can replay: the start event and Temporal's first workflow task. */
const eventsMin = 2
const replayMsMax = 30_000

/**
 * Replays one history against the workflow code of `bundle`, without a server and without side effects. The
 * SDK's error does not always name the event that differs. So a binary search replays shorter and shorter
 * beginnings of the history until it finds that event. Throws when the history is too short, or when a replay
 * takes longer than 30 s.
 */
export async function replayTask(bundle: WorkflowBundle, events: HistoryEvents): Promise<Replayed> {
  if (events.length < eventsMin) throw new Error('The history contains no workflow task.')
  const whole = await differenceIn(bundle, events)
  if (whole === undefined) return { kind: 'same', events: events.length }
  let same = eventsMin - 1
  let differs = { length: events.length, reason: whole }
  while (differs.length - same > 1) {
    const length = Math.floor((same + differs.length) / 2)
    const reason = await differenceIn(bundle, events.slice(0, length))
    if (reason === undefined) same = length
    else differs = { length, reason }
  }
  const { length, reason } = differs
  return { kind: 'differs', events: events.length, at: events[length - 1] ?? {}, reason }
}

async function differenceIn(
  bundle: WorkflowBundle,
  events: HistoryEvents,
): Promise<string | undefined> {
  const done = new AbortController()
  const late = sleep(replayMsMax, undefined, { signal: done.signal }).then(() => {
    throw new Error(`The replay did not end within ${replayMsMax} ms.`)
  })
  try {
    const history = { workflowId: 'replayed', history: { events } }
    const replay = replayHistories(bundle, [history])
    const [result] = await Promise.race([replay, late])
    return result?.error === undefined ? undefined : sentenceOf(result.error)
  } finally {
    done.abort()
    late.catch(() => {})
  }
}

/** Returns the sentence that names the difference. The SDK puts several layers of other text around it. */
function sentenceOf(error: string): string {
  const [, sentence] = /Nondeterminism error: (.*?)(?:", source:|$)/s.exec(error) ?? []
  return sentence ?? error
}

export type ReplayHistory = { readonly workflowId: string; readonly history: unknown }
type ReplayResult = {
  readonly workflowId: string
  /** Why the workflow code does not match the history. Absent when it matches. */
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
    results.push(error === undefined ? { workflowId } : { workflowId, error: error.message })
  }
  return results
}
