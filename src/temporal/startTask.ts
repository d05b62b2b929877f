import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { ImageTaskInput } from '../../workflows/contract.ts'
import {
  imageTaskWorkflow,
  searchAttributes,
  taskSummary,
  workflowTaskQueue,
} from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { StartTask, TaskStart } from '../domain/ports/taskRuns.ts'
import { grpcReason } from './grpcReason.ts'

type StartTaskDeps = {
  readonly temporal: Temporal
  /** Deadline of one start request to Temporal. */
  readonly startTimeoutMs: number
  /** From the start of the task to its hard end: task deadline + longest channel timeout + grace. */
  readonly produceTimeoutMs: number
}

/** Temporal serves lower numbers first. 3 is the server's default. */
const syncPriority = 2
const asyncPriority = 3

/**
 * Returns a function that starts the workflow of a task. The workflow's id follows from the task's id,
 * so the server refuses a second start by a retry, the reconciler or another process: the result is then
 * `exists`. Never throws when Temporal fails.
 */
export function createStartTask(deps: StartTaskDeps): StartTask {
  return async (start) => {
    const { client, withDeadline } = deps.temporal
    try {
      await withDeadline(deps.startTimeoutMs, () =>
        client.workflow.start(imageTaskWorkflow, {
          workflowId: workflowIdOf(start.taskId),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'FAIL',
          taskQueue: workflowTaskQueue,
          args: [inputOf(start, deps.produceTimeoutMs)],
          priority: priorityOf(start),
          typedSearchAttributes: searchAttributesOf(start),
          staticSummary: taskSummary(start),
        }),
      )
      return { kind: 'started' }
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'exists' }
      return { kind: 'failed', reason: grpcReason(error) }
    }
  }
}

function inputOf(start: TaskStart, produceTimeoutMs: number): ImageTaskInput {
  const { taskId, family, model } = start
  return { taskId, family, model, produceTimeoutMs }
}

/** Synchronous tasks go first. Within a priority, Temporal's fairness key makes accounts take turns. */
function priorityOf(start: TaskStart): { priorityKey: number; fairnessKey: string } {
  return {
    priorityKey: start.sync ? syncPriority : asyncPriority,
    fairnessKey: start.accountId,
  }
}

function searchAttributesOf(start: TaskStart) {
  const { account, model, family, action, keyDigest } = searchAttributes
  return [
    { key: account, value: start.accountId },
    { key: model, value: start.model },
    { key: family, value: start.family },
    { key: action, value: start.action },
    ...(start.keyDigest === undefined ? [] : [{ key: keyDigest, value: start.keyDigest }]),
  ]
}
