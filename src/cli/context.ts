import type { Answer } from './answer.ts'
import type { ApiKey } from '../domain/accounts/account.ts'
import type { Budget } from '../domain/accounts/budget.ts'
import type { Violation } from '../domain/accounts/violation.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { AccountStore } from '../store/accounts/accountStore.ts'
import type { CancelResult } from '../domain/ports/attemptStore.ts'
import type { ChannelAdmin, ChannelCheck } from '../domain/ports/channelAdmin.ts'
import type { RetryResult } from '../store/tasks/retryTask.ts'
import type { TaskAdmin } from '../store/tasks/taskStore.ts'
import type { WebhookAdmin } from '../store/webhooks/webhookStore.ts'
import type { HistoryEvents, Replayed } from '../domain/ports/taskRuns.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { IssueKey } from '../tasks/apiKeys.ts'

/** What every command gets. */
export type CliContext = {
  readonly parts: Parts
  /** Prints the answer, as JSON or as text. */
  readonly show: (answer: Answer) => void
  /** Runs work that may take long, and shows `text(seconds)` on stderr meanwhile. With --json it shows nothing. */
  readonly withProgress: <Value>(
    text: (seconds: number) => string,
    work: () => Promise<Value>,
  ) => Promise<Value>
}

/**
 * The parts of the service that commands use. A part loads its libraries and connects only when a command
 * asks for it. So `--help` is fast and works when nothing is running. A part throws when PostgreSQL or Temporal
 * is needed and cannot be reached. The message names the environment variable that contains the address.
 */
export type Parts = {
  readonly migrate: () => Promise<MigrateReport>
  readonly accounts: () => Promise<AccountStore>
  readonly issueKey: () => Promise<IssueKey>
  /**
   * Sets the budget of a key, or removes it when `budget` is `undefined`. What the key has already held or spent
   * in the current period counts against the budget. Returns `undefined` when there is no such key.
   */
  readonly setBudget: (keyId: string, budget: Budget | undefined) => Promise<ApiKey | undefined>
  readonly verifyLedger: () => Promise<readonly Violation[]>
  readonly tasks: () => Promise<TaskAdmin>
  readonly retryTask: () => Promise<(taskId: string) => Promise<RetryResult>>
  readonly cancelTask: () => Promise<CancelTask>
  readonly capabilities: () => Promise<CapabilityTable>
  readonly channels: () => Promise<ChannelAdmin>
  readonly webhooks: () => Promise<WebhookAdmin>
  /** Makes a free call on a channel of the operator's file. Returns `undefined` for a name not in the file. */
  readonly checkChannel: (name: string) => Promise<ChannelCheck | undefined>
  /**
   * Returns a function that gives the signed URL of a task's image, the same URL as in the API's task record.
   * The function returns `undefined` when SIGNING_KEYS or PUBLIC_URL is not set, and for a task without an
   * image.
   */
  readonly assetUrl: () => Promise<(task: TaskView) => string | undefined>
  readonly fetchHistory: () => Promise<FetchHistory>
  readonly replayTask: () => Promise<ReplayTask>
  /**
   * Returns the address of a workflow's page in Temporal's UI, or `undefined` when TEMPORAL_UI_URL is not
   * set.
   */
  readonly workflowUrl: (taskId: string) => Promise<string | undefined>
}

export type MigrateReport = {
  /** The names of the migrations that this command ran. */
  readonly applied: readonly string[]
  /** Absent when TEMPORAL_ADDRESS is not set. */
  readonly temporal?: {
    readonly namespace: string
    /** `lengthened` means that the namespace existed and this command raised its retention. */
    readonly state: 'made' | 'lengthened' | 'present'
    /** The search attributes that this command registered. */
    readonly searchAttributes: readonly string[]
  }
}

/**
 * Cancels the task in PostgreSQL, and then asks its workflow to end. Changes nothing when the task has already
 * ended, and when an upstream call for the task is running or may have done work. When Temporal cannot be
 * reached, the task is cancelled all the same.
 */
export type CancelTask = (taskId: string) => Promise<CancelResult>

/**
 * Returns the history of a task's newest run in Temporal's JSON, or `undefined` when Temporal has no run of
 * the task.
 */
export type FetchHistory = (taskId: string) => Promise<string | undefined>

/**
 * Replays a history against the workflow code of this checkout, without side effects. Throws when the history
 * is too short to be replayed, or when the replay takes longer than 30 seconds.
 */
export type ReplayTask = (events: HistoryEvents) => Promise<Replayed>
