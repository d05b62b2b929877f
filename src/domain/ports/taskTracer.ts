import type { UpstreamCaller } from '../upstreamCall.ts'

/**
 * Records what happens to a task as spans of one trace. Ids, names and enumerations only: what goes in
 * here is sent to whoever collects traces. Recording never throws and never waits.
 */
export type TaskTracer = {
  /** One request that made a task, or joined one by its key. */
  readonly request: (seen: TracedRequest) => void
  /** Runs an activity within a span of its own; calls made inside become its children. */
  readonly activity: <Value>(about: TracedActivity, work: () => Promise<Value>) => Promise<Value>
  /** One run of a task's workflow, told when it has ended. */
  readonly runEnded: (seen: TracedRun) => void
  /** The caller, with a span around every call. */
  readonly upstream: (caller: UpstreamCaller) => UpstreamCaller
}

type TracedRequest = {
  readonly taskId: string
  readonly accountId?: string
  readonly route: string
  readonly method: string
  readonly status: number
  readonly durationMs: number
  /** The request joined a task that an earlier one had made. */
  readonly replayed: boolean
}

export type TracedActivity = {
  readonly taskId: string
  /** Temporal's id of the workflow's run. */
  readonly runId: string
  readonly activity: string
  /** Temporal's count, which begins again at a reset; not the number of the upstream attempt. */
  readonly attempt: number
}

/** Times: epoch milliseconds. */
type TracedRun = {
  readonly taskId: string
  readonly runId: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** How the run ended: its outcome, or the type of its failure. */
  readonly outcome: string
}
