import type { Action, Family, ImageSize, ModelId } from '../src/domain/models.ts'
import type { TaskFailureCode } from '../src/domain/failure.ts'

/**
 * What the workflow and its callers agree on. No imports but types: clients load it without any SDK.
 * Everything here stands in histories: change it by adding, and raise `version` of the queues when a
 * worker of the old code must not see the new.
 */

/** The exported function's name is the workflow's type. */
export const imageTaskWorkflow = 'imageTask'

/** Ids and small enumerations only: never a prompt, a key or a byte of an image (design 1.4). */
export type ImageTaskInput = {
  readonly taskId: string
  readonly family: Family
  readonly model: ModelId
  /** Longest one run of `produceImage` may take: until the task's hard end. Milliseconds. */
  readonly produceTimeoutMs: number
}

/** `over`: the task was ended by somebody else; its record says how. */
export type ImageTaskResult = { readonly outcome: 'succeeded' | 'over' }

/** The query for the Temporal UI and CLI: `temporal workflow query --type status`. */
export const statusQueryName = 'status'
export type ImageTaskStatus = {
  readonly stage: 'producing' | 'recording_failure' | 'succeeded' | 'over' | 'failed' | 'cancelled'
  /** `kept`: a cancel came too late, a call had been made; the task goes on and is charged. */
  readonly cancel?: 'asking' | 'kept'
  readonly failureCode?: TaskFailureCode
}

const version = 'v1'

/** Workflow tasks, and the short activities that only write to PostgreSQL. */
export const workflowTaskQueue = `darkroom-tasks-${version}`

/** Upstream calls: a queue per family, so that a hung family never starves the other (design 1.14). */
export function produceTaskQueue(family: Family): string {
  return `darkroom-produce-${family.toLowerCase()}-${version}`
}

/** Failure types that are no task failure code: what a pending activity is waiting for. */
export const waitFailureType = 'Wait'
export const unexpectedFailureType = 'Unexpected'

/** Silence after which a worker counts as lost. Three heartbeats and a stalled event loop fit in. */
export const heartbeatTimeoutMs = 15_000
export const heartbeatIntervalMs = 3_000

/** Registered by `migrate`, checked by `/readyz`: the server refuses a start that names an unknown one. */
export const searchAttributes = {
  account: { name: 'DarkroomAccount', type: 'KEYWORD' },
  model: { name: 'DarkroomModel', type: 'KEYWORD' },
  family: { name: 'DarkroomFamily', type: 'KEYWORD' },
  action: { name: 'DarkroomAction', type: 'KEYWORD' },
  keyDigest: { name: 'DarkroomKeyDigest', type: 'KEYWORD' },
  channel: { name: 'DarkroomChannel', type: 'KEYWORD' },
  failureCode: { name: 'DarkroomFailureCode', type: 'KEYWORD' },
} as const

/** What a run tells its worker when traces are on (`traceRun.ts`): its outcome, and epoch milliseconds. */
export type RunSinks = {
  readonly run: { readonly ended: (outcome: string, endedAtMs: number) => void }
}

/** One line for lists and timelines of the Temporal UI. */
export function taskSummary(task: {
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
}): string {
  const { model, action, size } = task
  return [model, action, ...(size === undefined ? [] : [size])].join(' · ')
}
