import type { AccountStore } from '../domain/ports/accountStore.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import type { ChannelAdmin } from '../domain/ports/channelAdmin.ts'
import type { HistoryEvents, Replayed } from '../domain/ports/taskRuns.ts'
import type { RetryResult, TaskAdmin } from '../domain/ports/taskAdmin.ts'
import type { TaskView } from '../domain/task.ts'
import type { Violation } from '../domain/violation.ts'
import type { IssueKey } from '../tasks/apiKeys.ts'

/**
 * What commands work on. Each part is opened when a command first asks for it and loads its libraries
 * only then: `--help` opens nothing. A part that cannot be reached throws `Refusal` naming its variable.
 */
export type Parts = {
  readonly migrate: () => Promise<MigrateReport>
  readonly accounts: () => Promise<AccountStore>
  readonly issueKey: () => Promise<IssueKey>
  readonly verifyLedger: () => Promise<readonly Violation[]>
  readonly tasks: () => Promise<TaskAdmin>
  readonly retryTask: () => Promise<(taskId: string) => Promise<RetryResult>>
  readonly cancelTask: () => Promise<CancelTask>
  readonly capabilities: () => Promise<CapabilityTable>
  readonly channels: () => Promise<ChannelAdmin>
  /** The signed address of a task's image, as the lookup gives it; none without SIGNING_KEYS and PUBLIC_URL. */
  readonly assetUrl: () => Promise<(task: TaskView) => string | undefined>
  readonly fetchHistory: () => Promise<FetchHistory>
  readonly replayTask: () => Promise<ReplayTask>
  /** Where Temporal's UI shows a task's workflow, when the UI's address is known. */
  readonly workflowUrl: (taskId: string) => Promise<string | undefined>
}

export type MigrateReport = {
  readonly applied: readonly string[]
  /** Absent without TEMPORAL_ADDRESS. */
  readonly temporal?: {
    readonly namespace: string
    readonly state: 'made' | 'lengthened' | 'present'
    readonly searchAttributes: readonly string[]
  }
}

/** Cancels in PostgreSQL, then asks the workflow to end at once; false: too late, or over already. */
export type CancelTask = (taskId: string) => Promise<boolean>

/** A task's newest run in Temporal's JSON; `undefined`: Temporal knows none. */
export type FetchHistory = (taskId: string) => Promise<string | undefined>

/** Runs a history against this checkout's workflow code. Throws when it holds nothing to run. */
export type ReplayTask = (events: HistoryEvents) => Promise<Replayed>

export type CliContext = {
  readonly parts: Parts
  /** Shows the answer as JSON or text, whichever was asked for. */
  readonly show: (answer: Answer) => void
}

/** What a command found or did. `exitCode` 1: found wrong, or refused, with an answer all the same. */
export type Answer = {
  readonly json: unknown
  readonly text: string
  readonly exitCode?: 0 | 1
}
