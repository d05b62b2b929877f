import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { StartTask, TaskStart } from '../domain/ports/taskRuns.ts'
import { workflowIdOf } from '../domain/ids.ts'
import type { ImageTaskInput } from '../../workflows/contract.ts'
import {
  imageTaskWorkflow,
  searchAttributes,
  taskSummary,
  workflowTaskQueue,
} from '../../workflows/contract.ts'
import type { Temporal } from './connect.ts'
import { grpcReason } from './grpcReason.ts'

type StartTaskDeps = {
  readonly temporal: Temporal
  /** Deadline of one start. */
  readonly startTimeoutMs: number
  /** Task deadline + longest channel timeout + grace: the hard end, counted from the start. */
  readonly produceTimeoutMs: number
}

/** Lower goes first; 3 is the server's default. */
const syncPriority = 2
const asyncPriority = 3

/** The server's limit for a fairness key. */
const fairnessKeyBytesMax = 64

/**
 * Starts the workflow of a task under the id of the task (design 1.3): a second start of the same id, by
 * a retry, the reconciler or another process, is refused by the server and counts as done.
 */
export function createStartTask(deps: StartTaskDeps): StartTask {
  return async (start) => {
    const { client, within } = deps.temporal
    try {
      await within(deps.startTimeoutMs, () =>
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

/** Callers who wait go first; within a priority every account has its turn (design 1.14). */
function priorityOf(start: TaskStart): { priorityKey: number; fairnessKey: string } {
  return {
    priorityKey: start.sync ? syncPriority : asyncPriority,
    fairnessKey: start.accountId.slice(0, fairnessKeyBytesMax),
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
