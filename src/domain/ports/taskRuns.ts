import type { Action, Family, ImageSize, ModelId } from '../models.ts'

/** What starting a task's workflow needs to know, all of it on the task's row; small and free of secrets. */
export type TaskStart = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
  /** Somebody holds a connection open: goes before asynchronous work (design 1.13). */
  readonly sync: boolean
  /** SHA-256 of the Idempotency-Key in hex, for the operator's search by key (design 1.3). */
  readonly keyDigest?: string
}

export type StartResult =
  | { readonly kind: 'started' }
  /** A run of this task exists, open or closed: as good as started. */
  | { readonly kind: 'exists' }
  /** Not known to exist. `reason` is the name of a gRPC status, fit for a log. */
  | { readonly kind: 'failed'; readonly reason: string }

/** Starts a task's workflow, once: repeating it is harmless. Bounded in time; never throws. */
export type StartTask = (start: TaskStart) => Promise<StartResult>

/** What Temporal says of a task's run. `unreachable`: nothing, so nothing may be concluded. */
type RunState = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'missing'
export type RunReport = RunState | 'unreachable'

/** A run that somebody terminated. */
export type TerminatedRun = { readonly taskId: string; readonly runId: string }

/** The events of a workflow's history in Temporal's JSON, as far as they are looked at here. */
export type HistoryEvents = readonly Readonly<Record<string, unknown>>[]

/** What came of running a history against the workflow code of a checkout, without effects. */
export type Replayed =
  | { readonly kind: 'same'; readonly events: number }
  | {
      readonly kind: 'differs'
      readonly events: number
      /** The first event that the code would not have brought about. */
      readonly at: HistoryEvents[number]
      /** What Temporal's SDK says of it. */
      readonly reason: string
    }
