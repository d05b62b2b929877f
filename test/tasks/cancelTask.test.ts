import { expect, it } from 'vitest'
import { createLeftTasks } from '../../src/tasks/cancelTask.ts'

function leftTasks(failures: number) {
  const asked: string[] = []
  const left = createLeftTasks({
    cancelTask: async (taskId, reason) => {
      asked.push(taskId)
      expect(reason).toBe('client_left')
      if (asked.length <= failures) throw new Error('PostgreSQL restarts')
      return 'cancelled'
    },
    taskDeadlineMs: 60_000,
  })
  return { asked, ...left }
}

it('cancels the task of a client that has left as soon as PostgreSQL answers', async () => {
  const { asked, cancelLeft, answered } = leftTasks(2)
  cancelLeft('task_a', () => false)
  await answered(5_000)
  expect(asked).toEqual(['task_a', 'task_a', 'task_a'])
})

it('does not cancel a task for which another client waits meanwhile', async () => {
  const { asked, cancelLeft, answered } = leftTasks(1)
  cancelLeft('task_a', () => asked.length > 0)
  await answered(5_000)
  expect(asked).toEqual(['task_a'])
})

it('holds up the end of the process for a limited time', async () => {
  const { cancelLeft, answered } = leftTasks(Number.POSITIVE_INFINITY)
  cancelLeft('task_a', () => false)
  const startedAtMs = performance.now()
  await answered(50)
  expect(performance.now() - startedAtMs).toBeLessThan(1_000)
})
