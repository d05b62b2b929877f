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
  /** A client waits on an open connection. The task stands in line, and has a run only when it must go on. */
  readonly sync: boolean
  /** The SHA-256 of the Idempotency-Key in hex. An operator can find the run by it. */
  readonly keyDigest?: string
}
