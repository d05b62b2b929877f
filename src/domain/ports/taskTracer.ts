import type { UpstreamCaller } from '../upstreamCall.ts'

/**
 * Records what happens to a task as spans of one trace. Every field is an id, a name or an enumeration,
 * because traces leave the installation: no prompt, image or secret may be added. Recording never
 * throws and never waits.
 */
export type TaskTracer = {
  /** A request that created a task, or replayed one by its idempotency key. */
  readonly request: (seen: TracedRequest) => void
  /** Runs an activity in a span of its own. Upstream calls made inside become its children. */
  readonly activity: <Value>(about: TracedActivity, work: () => Promise<Value>) => Promise<Value>
  /** A run of a task's workflow that has ended. */
  readonly runEnded: (seen: TracedRun) => void
  /** The same caller, with a span around every call. */
  readonly upstream: (caller: UpstreamCaller) => UpstreamCaller
}

type TracedRequest = {
  readonly taskId: string
  readonly accountId?: string
  readonly route: string
  readonly method: string
  readonly status: number
  readonly durationMs: number
  /** An earlier request had created the task. */
  readonly replayed: boolean
}

export type TracedActivity = {
  readonly taskId: string
  /** Temporal's id of the workflow's run. */
  readonly runId: string
  readonly activity: string
  /** Temporal's count of executions, which starts again after a reset. Not the task's attempt. */
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
