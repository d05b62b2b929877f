import type { Caller } from '../accounts/account.ts'
import type { BudgetState } from '../accounts/budget.ts'
import type { JsonObject } from '../json.ts'
import type { TaskStart } from './taskRuns.ts'
import type { ImageRequest } from '../tasks/imageRequest.ts'
import type { TaskView } from '../tasks/task.ts'

/** A task to insert. Digests have 32 bytes. */
export type NewTask = {
  readonly taskId: string
  readonly caller: Caller
  readonly request: ImageRequest
  readonly fingerprint: Uint8Array
  readonly keyDigest?: Uint8Array
  /** The span of the client that asks, as `readTraceparent` returns it. */
  readonly traceparent?: string
  /** The upload that contains the inputs. */
  readonly uploadId?: string
  readonly credits: number
  /** Time until the deadline, from PostgreSQL's now. */
  readonly deadlineMs: number
  /** Time until the hard end, from PostgreSQL's now. Longer than `deadlineMs`. */
  readonly hardEndMs: number
}

export type InsertTaskResult =
  | { readonly kind: 'inserted'; readonly createdAtMs: number }
  /** The idempotency key already names another task. Nothing was written. */
  | { readonly kind: 'key_taken' }
  /** The account does not have enough credits. Nothing was written. */
  | { readonly kind: 'insufficient' }
  /** The price is more than what is left of the key's budget. Nothing was written. */
  | { readonly kind: 'over_budget'; readonly budget: BudgetState }

/** The task that an idempotency key names. */
export type KeyedTask = {
  readonly taskId: string
  readonly createdAtMs: number
  readonly fingerprint: Uint8Array
  /** The price of the task. */
  readonly credits: number
  /** The task is due for the purge but not yet purged. After `freeKey`, the key can name a new task. */
  readonly purgeDue: boolean
}

/**
 * What the acceptance and the lookup of tasks read and write. Every change is one statement, so it happens whole or not
 * at all. Implemented in `src/store/accounts/`, `src/store/tasks/` and `src/store/reconcile/uploads.ts`.
 */
export type TaskStore = {
  /**
   * Returns the caller whose secret has one of these hashes. Returns `undefined` when there is no such key,
   * and when the key is revoked or expired.
   */
  readonly findCaller: (secretHashes: readonly Uint8Array[]) => Promise<Caller | undefined>
  /** Returns the task that the account's key names, even if the task is due for the purge. */
  readonly findKeyedTask: (
    accountId: string,
    keyDigest: Uint8Array,
  ) => Promise<KeyedTask | undefined>
  /** Frees a key whose task is due for the purge. Does nothing for any other key. */
  readonly freeKey: (accountId: string, keyDigest: Uint8Array) => Promise<void>
  /**
   * Binds the idempotency key to the task, inserts the task, takes over its inputs and holds its price. Does all of
   * this or nothing.
   */
  readonly insertTask: (task: NewTask) => Promise<InsertTaskResult>
  /**
   * Returns a task, with its native response if that is still kept. Returns `undefined` when the task is
   * unknown, is due for the purge, or belongs to an account other than `accountId`.
   */
  readonly readTask: (taskId: string, accountId?: string) => Promise<TaskView | undefined>
  /**
   * Returns a task of any account, without its native response. For the download of its image: the signed URL
   * contains the id of the task, and the request has no API key.
   */
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  /**
   * Returns the answer with which a family A model rejected the task's request, or `undefined` when there is none.
   */
  readonly readNativeRejection: (taskId: string) => Promise<JsonObject | undefined>
  /**
   * Records an upload before its first byte is written. The sweep deletes the upload after `sweepAfterMs`,
   * unless a task takes it over.
   */
  readonly openUpload: (uploadId: string, sweepAfterMs: number) => Promise<void>
  /** Makes an upload due for the sweep. Does nothing when a task has taken it over. */
  readonly discardUpload: (uploadId: string) => Promise<void>
}

/**
 * Wakes callers that wait for the end of a task, or for a change of its status. Implemented with PostgreSQL's
 * NOTIFY and a poll in `src/store/tasks/taskEnds.ts`.
 */
export type TaskEnds = {
  /**
   * Watches one task. Start the watch before you read the task's row. Otherwise you miss an end between the
   * read and the watch. The caller wakes at once after an end, and within a second after another change of the
   * status. `stop` ends the watch.
   */
  readonly watch: (taskId: string, what: WatchedChange) => TaskWatch
  /** Wakes every caller and closes the connection. */
  readonly close: () => Promise<void>
}

export type WatchedChange = 'end' | 'status'

export type TaskWatch = {
  /**
   * Resolves to true when the task has changed or may have changed, and to false when the signal aborts and
   * after `limitMs`. Never rejects.
   */
  readonly next: (signal: AbortSignal, limitMs?: number) => Promise<boolean>
  readonly stop: () => void
}

/**
 * Called for every task that was just accepted, so that a worker gets it. Never throws and never waits.
 */
export type OnAccepted = (start: TaskStart) => void
