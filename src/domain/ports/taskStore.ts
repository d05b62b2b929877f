import type { Caller } from '../account.ts'
import type { ImageRequest } from '../imageRequest.ts'
import type { JsonObject } from '../json.ts'
import type { TaskView } from '../task.ts'
import type { TaskStart } from './taskRuns.ts'

/** A task to insert. Digests have 32 bytes. */
export type NewTask = {
  readonly taskId: string
  readonly caller: Caller
  readonly request: ImageRequest
  readonly fingerprint: Uint8Array
  readonly keyDigest?: Uint8Array
  /** The staged inputs. */
  readonly uploadId?: string
  readonly credits: number
  /** From PostgreSQL's now. */
  readonly deadlineMs: number
  /** From PostgreSQL's now, and later than the deadline. */
  readonly hardEndMs: number
}

export type InsertTaskResult =
  | { readonly kind: 'inserted'; readonly createdAtMs: number }
  /** The key names another task already: nothing was written. */
  | { readonly kind: 'key_taken' }
  /** The account does not have the credits: nothing was written. */
  | { readonly kind: 'insufficient' }

/** The task that an idempotency key names. */
export type KeyedTask = {
  readonly taskId: string
  readonly createdAtMs: number
  readonly fingerprint: Uint8Array
  /** The task is due for the purge but not purged yet. The key may name a new task after `freeKey`. */
  readonly purgeDue: boolean
}

/**
 * What acceptance and lookup read and write. Every function is one statement. Implemented in
 * `src/store/accounts/`, `src/store/tasks/` and `src/store/reconcile/uploads.ts`.
 */
export type TaskStore = {
  /**
   * The caller whose secret has one of these hashes. `undefined`: no key, or a revoked or expired one.
   */
  readonly findCaller: (secretHashes: readonly Uint8Array[]) => Promise<Caller | undefined>
  /** The task that the account's key names, also when it is due for the purge. */
  readonly findKeyedTask: (
    accountId: string,
    keyDigest: Uint8Array,
  ) => Promise<KeyedTask | undefined>
  /** Frees a key whose task is due for the purge. Does nothing for any other key. */
  readonly freeKey: (accountId: string, keyDigest: Uint8Array) => Promise<void>
  /** Claims the key, inserts the task, takes its inputs over and holds its price, or does nothing. */
  readonly insertTask: (task: NewTask) => Promise<InsertTaskResult>
  /**
   * A task with its native response, if that is kept. `undefined`: the task is unknown, due for the
   * purge or, with `accountId`, of another account.
   */
  readonly readTask: (taskId: string, accountId?: string) => Promise<TaskView | undefined>
  /** The same for a request that names an image: any account's task, without the native response. */
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  /** The model's refusal as it answered. `undefined`: the task has none. */
  readonly readNativeRefusal: (taskId: string) => Promise<JsonObject | undefined>
  /**
   * Records an upload before its first byte is written. It is swept after `sweepAfterMs` unless a task
   * takes it over.
   */
  readonly openUpload: (uploadId: string, sweepAfterMs: number) => Promise<void>
  /** Makes an upload due for the sweep. Does nothing when a task has taken it over. */
  readonly discardUpload: (uploadId: string) => Promise<void>
}

/**
 * Wakes callers that wait for the end of a task. Implemented with PostgreSQL's NOTIFY in
 * `src/store/tasks/taskEnds.ts`.
 */
export type TaskEnds = {
  /**
   * Watches one task. Watch before you read the task's row, so that an end between the two is not
   * missed. `next` resolves when the task has ended or may have, and when the signal aborts. It never
   * rejects. `stop` ends the watch.
   */
  readonly watch: (taskId: string) => {
    readonly next: (signal: AbortSignal) => Promise<void>
    readonly stop: () => void
  }
  /** Wakes every caller and closes the connection. */
  readonly close: () => Promise<void>
}

/**
 * Called with every task that was just accepted, to start its workflow. Never throws and never waits.
 */
export type OnAccepted = (start: TaskStart) => void
