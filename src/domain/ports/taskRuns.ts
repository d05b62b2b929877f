import type { Action, Family, ImageSize, ModelId } from '../models.ts'

/**
 * What starting a task's workflow needs. All of it is on the task's row, small, and free of secrets.
 */
export type TaskStart = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
  /** A client holds a connection open: the task goes before asynchronous ones. */
  readonly sync: boolean
  /** SHA-256 of the Idempotency-Key in hex, so that an operator can find the run by its key. */
  readonly keyDigest?: string
}

export type StartResult =
  | { readonly kind: 'started' }
  /** A run of this task exists already, open or closed. */
  | { readonly kind: 'exists' }
  /** The run may exist or not. `reason` is the name of a gRPC status, safe to log. */
  | { readonly kind: 'failed'; readonly reason: string }

/** Starts a task's workflow. Safe to repeat: a task has one run. Limited in time; never rejects. */
export type StartTask = (start: TaskStart) => Promise<StartResult>

type RunState = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'missing'

/**
 * The state of a task's newest run. `unreachable`: Temporal did not answer, so the state is not known.
 */
export type RunReport = RunState | 'unreachable'

/** A run that was terminated, by the Temporal UI or CLI. */
export type KilledRun = { readonly taskId: string; readonly runId: string }

/** The events of a workflow's history, in Temporal's JSON. */
export type HistoryEvents = readonly Readonly<Record<string, unknown>>[]

/** The result of replaying a history against the workflow code of this checkout, without effects. */
export type Replayed =
  | { readonly kind: 'same'; readonly events: number }
  | {
      readonly kind: 'differs'
      readonly events: number
      /** The first event that the code would not have caused. */
      readonly at: HistoryEvents[number]
      /** The message of Temporal's SDK. */
      readonly reason: string
    }
