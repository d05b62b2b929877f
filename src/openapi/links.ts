import type { Answer } from './operation.ts'

/** Returns links to all operations that need only a task id. The expression `taskId` finds the id in the answer. */
export function linksToTask(taskId: string): NonNullable<Answer['links']> {
  const parameters = { task_id: taskId }
  return {
    getTask: { parameters },
    getTaskByOtherPath: { parameters },
    getTaskResult: { parameters },
    getTaskResultByOtherPath: { parameters },
    getTaskEvents: { parameters },
    cancelTask: { parameters },
  }
}
