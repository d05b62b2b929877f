import type { Action, Family, ImageSize, ModelId } from '../models/models.ts'

/**
 * The data that the start of a task's workflow needs. All of it is in the task's row. It is small and
 * contains no secrets.
 */
export type TaskStart = {
  readonly taskId: string
  readonly accountId: string
  readonly family: Family
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
  /** A client waits on an open connection, so the task goes before asynchronous tasks. */
  readonly sync: boolean
  /** The SHA-256 of the Idempotency-Key in hex. An operator can find the run by it. */
  readonly keyDigest?: string
}

export type StartResult =
  | { readonly kind: 'started' }
  /** A run of this task already exists. It may be open or closed. */
  | { readonly kind: 'exists' }
  /** Nobody knows whether the run exists. `reason` is the name of a gRPC status and safe to log. */
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Starts a task's workflow. Safe to repeat, because a task has only one run. Ends within a fixed time and
 * never rejects.
 */
export type StartTask = (start: TaskStart) => Promise<StartResult>

type RunState = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'missing'

/**
 * The state of a task's newest run. `unreachable` means that Temporal did not answer, so the state is not
 * known.
 */
export type RunReport = RunState | 'unreachable'

/** The events of a workflow's history, in Temporal's JSON. */
export type HistoryEvents = readonly Readonly<Record<string, unknown>>[]
