import type { UpstreamCaller } from '../upstream/upstreamCall.ts'

/**
 * Records what happens to a task as spans of one trace. Every field is an id, a name or an enumeration. Do
 * not add prompts, images or secrets, because traces leave the installation. Recording never throws and never
 * waits.
 */
export type TaskTracer = {
  /** Records a request that created a task, or that replayed a task by its idempotency key. */
  readonly request: (seen: TracedRequest) => void
  /** Runs an activity in its own span. The spans of upstream calls inside become its children. */
  readonly activity: <Value>(about: TracedActivity, work: () => Promise<Value>) => Promise<Value>
  /** Runs the work on an offer in its own span, under the span of the request. */
  readonly offer: <Result extends string>(
    taskId: string,
    work: () => Promise<Result>,
  ) => Promise<Result>
  /** Records a run of a task's workflow that has ended. */
  readonly runEnded: (seen: TracedRun) => void
  /** Returns a caller that does the same as the given one and records a span for every call. */
  readonly upstream: (caller: UpstreamCaller) => UpstreamCaller
}

type TracedRequest = {
  readonly taskId: string
  readonly accountId?: string
  readonly route: string
  readonly method: string
  readonly status: number
  readonly durationMs: number
  /** True when an earlier request had created the task. */
  readonly replayed: boolean
}

type TracedActivity = {
  readonly taskId: string
  /** Temporal's id of the run. */
  readonly runId: string
  readonly activity: string
  /**
   * Temporal's count of the activity's executions, which starts again after a reset. It is not the number of
   * the task's attempt.
   */
  readonly attempt: number
}

type TracedRun = {
  readonly taskId: string
  readonly runId: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** How the run ended: its outcome, or the type of its failure. */
  readonly outcome: string
}
