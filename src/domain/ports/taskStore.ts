import type { Caller } from '../account.ts'
import type { ImageRequest } from '../imageRequest.ts'
import type { JsonObject } from '../json.ts'
import type { TaskView } from '../task.ts'
import type { TaskStart } from './taskRuns.ts'

/** A task to be written down with its hold. Digests are 32 bytes, times durations from the database's now. */
export type NewTask = {
  readonly taskId: string
  readonly caller: Caller
  readonly request: ImageRequest
  readonly fingerprint: Uint8Array
  readonly keyDigest?: Uint8Array
  readonly uploadId?: string
  readonly credits: number
  readonly deadlineMs: number
  /** From now as well; beyond `deadlineMs`. */
  readonly hardEndMs: number
}

export type InsertTaskResult =
  | { readonly kind: 'inserted'; readonly createdAtMs: number }
  /** Somebody else's claim of the same key came first: nothing was written. */
  | { readonly kind: 'key_taken' }
  | { readonly kind: 'insufficient' }

/** The task that an idempotency key names. */
export type KeyedTask = {
  readonly taskId: string
  readonly createdAtMs: number
  readonly fingerprint: Uint8Array
  /** Its life is over; only the sweep has not come by yet. The key is free to be taken again. */
  readonly purgeDue: boolean
}

/** What acceptance and lookup need of PostgreSQL. Implemented in `src/store/`. */
export type TaskStore = {
  readonly findCaller: (secretHashes: readonly Uint8Array[]) => Promise<Caller | undefined>
  readonly findKeyedTask: (
    accountId: string,
    keyDigest: Uint8Array,
  ) => Promise<KeyedTask | undefined>
  /** Takes the key off a task whose life is over; a no-op for any other. */
  readonly freeKey: (accountId: string, keyDigest: Uint8Array) => Promise<void>
  readonly insertTask: (task: NewTask) => Promise<InsertTaskResult>
  /** `undefined` for unknown, purged and, with an account, strangers' tasks alike. */
  readonly readTask: (taskId: string, accountId?: string) => Promise<TaskView | undefined>
  /** The same for an asset's URL: without `native`. */
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  readonly readNativeRefusal: (taskId: string) => Promise<JsonObject | undefined>
  readonly openUpload: (uploadId: string, sweepAfterMs: number) => Promise<void>
  readonly discardUpload: (uploadId: string) => Promise<void>
}

/** Tells waiters that a task may have ended. Implemented over PostgreSQL's NOTIFY. */
export type TaskEnds = {
  /**
   * A watch on one task, taken before its row is read so that no end falls in between. `next` resolves
   * when the task ended or may have, and when the signal aborts; it never rejects.
   */
  readonly watch: (taskId: string) => {
    readonly next: (signal: AbortSignal) => Promise<void>
    readonly stop: () => void
  }
  readonly close: () => Promise<void>
}

/** Starts the workflow of a task just accepted: hands it to a queue at once, never throws, never waits. */
export type OnAccepted = (start: TaskStart) => void
