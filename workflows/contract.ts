import type { TaskFailureCode } from '../src/domain/failure.ts'
import type { Action, Family, ImageSize, ModelId } from '../src/domain/models/models.ts'

// The names and types that the workflow, its activities and its callers share. This file imports only types,
// so that clients can load it without Temporal's SDK. Histories contain all these names and types, so read
// workflows/README.md before you change one.

/** The workflow type, which is the name of the function in `imageTask.ts`. */
export const imageTaskWorkflow = 'imageTask'

/**
 * The input of the workflow. Contains only ids and small enumerations. Prompts, secrets and images must not
 * get into Temporal, because its payloads are limited to 2 MiB and visible in its UI.
 */
export type ImageTaskInput = {
  readonly taskId: string
  readonly family: Family
  readonly model: ModelId
  /** Limit for one execution of `produceImage`. Long enough to reach the task's hard end. */
  readonly produceTimeoutMs: number
}

/** How a run ended that did not fail, and its activity. `over`: the task was cancelled, or does not exist. */
export type ImageTaskResult = { readonly outcome: 'succeeded' | 'over' }

/** The input of the activity `produceImage`. `giveUp`: the task makes no further call, and ends. */
export type ProduceArgument = {
  readonly taskId: string
  readonly family: Family
  readonly model: ModelId
  readonly giveUp?: boolean
}

/** The activities. Histories contain their names, so these names must never change. */
export type Activities = {
  /** Brings a task to its end. A wait is a failure, after which Temporal runs it again. */
  readonly produceImage: (argument: ProduceArgument) => Promise<ImageTaskResult>
  /** Cancels a task. Resolves to false when a call may have done work. */
  readonly cancelTask: (argument: { readonly taskId: string }) => Promise<boolean>
}

/** The name of the status query. Use it in Temporal's UI or CLI: `temporal workflow query --type status`. */
export const statusQueryName = 'status'
export type ImageTaskStatus = {
  readonly stage: 'producing' | 'recording_failure' | 'succeeded' | 'over' | 'failed' | 'cancelled'
  /** `kept` means that the task continues, because a call may have done work before the cancel. */
  readonly cancel?: 'asking' | 'kept'
  readonly failureCode?: TaskFailureCode
}

const version = 'v1'

/**
 * Returns the queue for Temporal's workflow tasks and for the short activities that record a task's end. It has the id of
 * the blob store, which belongs to one database, so that several installations can share a namespace.
 */
export function workflowTaskQueue(storeId: string): string {
  return `darkroom-${version}-${storeId}`
}

/**
 * Returns the queue for upstream calls, from the queue of the workflow. Each family has its own queue, so that a family
 * whose calls hang does not block the other.
 */
export function produceTaskQueue(workflowQueue: string, family: Family): string {
  return `${workflowQueue}-${family.toLowerCase()}`
}

/** How often the activity `produceImage` sends Temporal a heartbeat while it runs. */
export const heartbeatIntervalMs = 5_000

/**
 * After this time without a heartbeat, Temporal gives the activity to another worker. Long enough that two
 * heartbeats in a row may be lost.
 */
export const heartbeatTimeoutMs = 20_000

/**
 * The types of failures that make Temporal run an activity again. All other failure types are task failure
 * codes.
 */
export const waitFailureType = 'Wait'
export const unexpectedFailureType = 'Unexpected'

/**
 * The search attributes of runs. `migrate` registers them and `/readyz` checks them, because Temporal does
 * not start a run that has an unknown search attribute.
 */
export const searchAttributes = {
  account: { name: 'DarkroomAccount', type: 'KEYWORD' },
  model: { name: 'DarkroomModel', type: 'KEYWORD' },
  family: { name: 'DarkroomFamily', type: 'KEYWORD' },
  action: { name: 'DarkroomAction', type: 'KEYWORD' },
  keyDigest: { name: 'DarkroomKeyDigest', type: 'KEYWORD' },
  channel: { name: 'DarkroomChannel', type: 'KEYWORD' },
  failureCode: { name: 'DarkroomFailureCode', type: 'KEYWORD' },
} as const

/** Returns one line of text for lists and timelines in Temporal's UI. */
export function taskSummary(task: {
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
}): string {
  const { model, action, size } = task
  return [model, action, ...(size === undefined ? [] : [size])].join(' · ')
}
