import { Worker } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvents, Replayed } from '../../domain/ports/taskRuns.ts'
import type { WorkflowBundle } from './workflowBundle.ts'

/** A start and its first workflow task: less than that is never recorded, and never replayed to an end. */
const eventsMin = 2
const replayMsMax = 30_000

/**
 * Replays one history against the workflow code of `bundle`, without a server and without effects. Where
 * it differs is found by replaying shorter and shorter beginnings of it: what the SDK says does not
 * always name the event. Throws when there is nothing to replay, or the code does not come to an end.
 */
export async function replayTask(bundle: WorkflowBundle, events: HistoryEvents): Promise<Replayed> {
  if (events.length < eventsMin) throw new Error('The history holds no workflow task.')
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
    throw new Error(`The workflow code did not come to an end within ${replayMsMax} ms.`)
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

/** The SDK wraps the one sentence of interest in several layers of its own. */
function sentenceOf(error: string): string {
  const [, sentence] = /Nondeterminism error: (.*?)(?:", source:|$)/s.exec(error) ?? []
  return sentence ?? error
}

export type ReplayHistory = { readonly workflowId: string; readonly history: unknown }
type ReplayResult = {
  readonly workflowId: string
  /** Why this checkout's workflow code would not have done what the history says. Absent: it would. */
  readonly error?: string
}

/**
 * Runs recorded histories against the workflow code of this checkout, without a server and without
 * effects (design section 3, `task replay`). `history` is Temporal's JSON, as `task history` writes it.
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
