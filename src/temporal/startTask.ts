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
import type { TaskStart } from '../domain/tasks/taskStart.ts'
import { rethrowBug } from './grpcReason.ts'

export type StartTask = ReturnType<typeof createStartTask>

/** Limit for the start of one workflow. If it takes longer, the reconciler tries again. */
const startTimeoutMs = 3_000

/**
 * Returns a function that starts the workflow of a task. The workflow's id is made from the task's id. So
 * when the API process, the reconciler or another process starts the same task again, the server rejects the
 * second start. Returns whether the task has a run now, open or closed: false when Temporal fails or does not answer in
 * time, and then nobody knows. Throws only for a bug. The workers of the blob store `storeId` carry it out.
 * `produceTimeoutMs` limits one execution of `produceImage`, and is longer than the way to the hard end of any task.
 */
export function createStartTask(
  { client, withDeadline }: Temporal,
  { storeId, produceTimeoutMs }: { readonly storeId: string; readonly produceTimeoutMs: number },
) {
  const taskQueue = workflowTaskQueue(storeId)
  return async (start: TaskStart): Promise<boolean> => {
    const { taskId, family, model, accountId } = start
    const input: ImageTaskInput = { taskId, family, model, produceTimeoutMs }
    try {
      await withDeadline(startTimeoutMs, () =>
        client.workflow.start(imageTaskWorkflow, {
          workflowId: workflowIdOf(taskId),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'FAIL',
          taskQueue,
          args: [input],
          // With the fairness key, Temporal makes accounts take turns. All tasks have the same priority: a higher one of
          // synchronous tasks would keep the others from every slot while there are enough of them.
          priority: { fairnessKey: accountId },
          typedSearchAttributes: searchAttributesOf(start),
          staticSummary: taskSummary(start),
        }),
      )
      return true
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return true
      rethrowBug(error)
      return false
    }
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
