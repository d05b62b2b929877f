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
