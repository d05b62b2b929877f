import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'
import { parseTaskId } from './parse.ts'
import { noSuchTask } from './refusal.ts'

/** `task cancel ID`: JSON `cancelled`; false with exit code 1. Who pays: docs/money.md. */
export function taskCancel(context: CliContext): Command {
  return leaf({
    usage: 'cancel',
    description: 'cancel a task and release its credits, unless a call may have done work (exit 1)',
    examples: ['task cancel task_0a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTu'],
  })
    .argument('<id>', 'task id', parseTaskId)
    .action(async (taskId: string) => {
      const tasks = await context.parts.tasks()
      const detail = await tasks.readDetail(taskId)
      if (detail === undefined) throw noSuchTask(taskId)
      const cancelled = await (await context.parts.cancelTask())(taskId)
      const over = detail.task.completedAtMs !== undefined
      const refused = over
        ? `Not cancelled: the task is ${detail.task.status}.`
        : 'Not cancelled: a call is under way or may have done work. It finishes, and an image is charged.'
      context.show({
        json: { cancelled },
        text: cancelled ? 'Cancelled; its credits are released.' : refused,
        exitCode: cancelled ? 0 : 1,
      })
    })
}
