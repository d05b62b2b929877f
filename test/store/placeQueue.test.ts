import { beforeEach, describe, expect, it } from 'vitest'
import { defined } from '../../src/domain/defined.ts'
import type { Question } from '../../src/domain/ports/attemptStore.ts'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { testChannel } from '../support/database/testAttempts.ts'

const places = 2
const world = useAttemptWorld([testChannel({ concurrencyMax: places })])
const asked = new Set<string>()
/** How a task asks again. The answers must be the same. */
let again: Question = 'further'
beforeEach(async () => {
  asked.clear()
  await world.pool.query('truncate place_queue, attempt')
})

async function taskOf(accountId: string, route?: Route): Promise<string> {
  const given = { accountId, ...defined({ route }) }
  return (await insertTask(world.pool, given)).taskId
}

const tasksOf = (accountId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => taskOf(accountId)))

/** Keeps the place of a task also on a machine that is too busy for the next question to come in time. */
async function keepPlace(taskId: string): Promise<void> {
  await world.pool.query(
    `update place_queue set present_until = present_until + interval '1 minute' where task_id = $1`,
    [taskId],
  )
}

/** `opened`, or the reason to wait. */
async function ask(taskId: string): Promise<string> {
  const question = asked.has(taskId) ? again : 'first'
  asked.add(taskId)
  const begun = await world.attempts.beginAttempt({ taskId, question })
  await keepPlace(taskId)
  return begun.kind === 'wait' ? begun.reason : begun.kind
}

async function askAll(taskIds: readonly string[]): Promise<readonly string[]> {
  const answers: string[] = []
  for (const taskId of taskIds) answers.push(await ask(taskId))
  return answers
}

/** Ends a call, which frees its place. */
async function endCall(taskId = ''): Promise<void> {
  const evidence = { reason: 'content_policy' } as const
  await world.attempts.closeAttempt({ taskId, n: 1, class: 'rejected', evidence })
}

const queued = async () =>
  (await world.pool.query('select task_id as "taskId" from place_queue order by since')).rows

describe.each(['further', 'in_line'] as const)(
  'the queue for a place on a full channel, asked %s',
  (how) => {
    beforeEach(() => {
      again = how
    })

    it('ranks an asynchronous task that has waited for 30 s with synchronous tasks', async () => {
      const [one = '', two = '', patient = ''] = await tasksOf('acct_a', 3)
      const waiting = await taskOf('acct_a', 'images.generations')
      expect(await askAll([one, two, patient, waiting])).toEqual([
        'opened',
        'opened',
        'channel_full',
        'channel_full',
      ])
      await endCall(one)
      expect(await ask(patient)).toBe('channel_full')
      await world.pool.query(
        `update place_queue set since = now() - interval '31 seconds' where task_id = $1`,
        [patient],
      )
      expect(await ask(waiting)).toBe('channel_full')
      expect(await ask(patient)).toBe('opened')
    })

    it('gives a free place to the task that joined first, not to the task that asks first', async () => {
      const [one, two, first = '', second = '', late = ''] = await tasksOf('acct_a', 5)
      expect(await askAll([one ?? '', two ?? ''])).toEqual(['opened', 'opened'])
      expect(await askAll([first, second])).toEqual(['channel_full', 'channel_full'])
      await endCall(one)
      expect(await askAll([late, second])).toEqual(['channel_full', 'channel_full'])
      expect(await ask(first)).toBe('opened')
      expect(await queued()).toEqual([{ taskId: second }, { taskId: late }])
      await endCall(two)
      expect(await askAll([late, second])).toEqual(['channel_full', 'opened'])
    })

    it('puts the task of an account without calls before tasks of an account with calls', async () => {
      const [one, two, ...waiting] = await tasksOf('acct_many', 6)
      await askAll([one ?? '', two ?? '', ...waiting])
      const other = await taskOf('acct_few')
      expect(await ask(other)).toBe('channel_full')
      await endCall(one)
      expect(await askAll([...waiting, other])).toEqual([
        ...waiting.map(() => 'channel_full'),
        'opened',
      ])
    })

    it('puts synchronous tasks first', async () => {
      const [one, two, waiting = ''] = await tasksOf('acct_async', 3)
      await askAll([one ?? '', two ?? '', waiting])
      const sync = await taskOf('acct_sync', 'images.generations')
      expect(await ask(sync)).toBe('channel_full')
      await endCall(two)
      expect(await askAll([waiting, sync])).toEqual(['channel_full', 'opened'])
    })
  },
)
