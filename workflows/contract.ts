import type { Action, Family, ImageSize, ModelId } from '../src/domain/models.ts'
import type { TaskFailureCode } from '../src/domain/failure.ts'

// What the workflow, its activities and its callers have in common. It imports only types, so that clients
// load it without an SDK. Histories contain all of it: see workflows/README.md before changing it.

/** The workflow type: the name of the function in `imageTask.ts`. */
export const imageTaskWorkflow = 'imageTask'

/**
 * Only ids and small enumerations. Prompts, secrets and images stay out of Temporal, whose payloads are
 * limited to 2 MiB and visible in its UI.
 */
export type ImageTaskInput = {
  readonly taskId: string
  readonly family: Family
  readonly model: ModelId
  /** Longest time of one run of `produceImage`: until the task's hard end. */
  readonly produceTimeoutMs: number
}

/** `over`: the task had already ended; its record says how. */
export type ImageTaskResult = { readonly outcome: 'succeeded' | 'over' }

/** A query for Temporal's UI and CLI: `temporal workflow query --type status`. */
export const statusQueryName = 'status'
export type ImageTaskStatus = {
  readonly stage: 'producing' | 'recording_failure' | 'succeeded' | 'over' | 'failed' | 'cancelled'
  /** `kept`: the cancel came too late, because a call may have done work. The task continues. */
  readonly cancel?: 'asking' | 'kept'
  readonly failureCode?: TaskFailureCode
}

const version = 'v1'

/** For workflow tasks and the short activities that record an end. */
export const workflowTaskQueue = `darkroom-tasks-${version}`

/** For upstream calls: one queue per family, so that a family that hangs does not block the other. */
export function produceTaskQueue(family: Family): string {
  return `darkroom-produce-${family.toLowerCase()}-${version}`
}

/** The failure types of a pending activity. All other types are task failure codes. */
export const waitFailureType = 'Wait'
export const unexpectedFailureType = 'Unexpected'

/** Temporal gives the activity to another worker after this silence: three lost heartbeats fit in. */
export const heartbeatTimeoutMs = 15_000
export const heartbeatIntervalMs = 3_000

/** Registered by `migrate` and checked by `/readyz`: Temporal refuses to start a run with an unknown one. */
export const searchAttributes = {
  account: { name: 'DarkroomAccount', type: 'KEYWORD' },
  model: { name: 'DarkroomModel', type: 'KEYWORD' },
  family: { name: 'DarkroomFamily', type: 'KEYWORD' },
  action: { name: 'DarkroomAction', type: 'KEYWORD' },
  keyDigest: { name: 'DarkroomKeyDigest', type: 'KEYWORD' },
  channel: { name: 'DarkroomChannel', type: 'KEYWORD' },
  failureCode: { name: 'DarkroomFailureCode', type: 'KEYWORD' },
} as const

/** What a run reports to its worker when traces are on (`traceRun.ts`). `endedAtMs` is an instant. */
export type RunSinks = {
  readonly run: { readonly ended: (outcome: string, endedAtMs: number) => void }
}

/** One line for lists and timelines in Temporal's UI. */
export function taskSummary(task: {
  readonly model: ModelId
  readonly action: Action
  readonly size?: ImageSize
}): string {
  const { model, action, size } = task
  return [model, action, ...(size === undefined ? [] : [size])].join(' · ')
}
