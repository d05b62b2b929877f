import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { cancelLeftTask } from '../../src/tasks/clientCancels.ts'
import { until } from '../support/timing.ts'

/** Cancels a task that a client has left, while PostgreSQL fails so many times. */
function cancelLeft(failures: number, isAwaited: (asked: number) => boolean) {
  const asked: unknown[] = []
  const cancelTask = async (...given: readonly unknown[]) => {
    asked.push(given)
    if (asked.length <= failures) throw new Error('PostgreSQL restarts')
    return 'cancelled' as const
  }
  const deps = { cancelTask, taskDeadlineMs: 60_000 }
  cancelLeftTask(deps, 'task_a', () => isAwaited(asked.length))
  return asked
}

it('cancels the task of a client that has left as soon as PostgreSQL answers', async () => {
  const asked = cancelLeft(2, () => false)
  await until('the third try', () => (asked.length > 2 ? true : undefined))
  expect(asked).toEqual([1, 2, 3].map(() => ['task_a', 'client_left']))
})

it('does not cancel a task for which another client waits meanwhile', async () => {
  const asked = cancelLeft(1, (count) => count > 0)
  await sleep(500)
  expect(asked).toHaveLength(1)
})
