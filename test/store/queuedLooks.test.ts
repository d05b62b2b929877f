import { expect, it } from 'vitest'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { testChannel } from '../support/database/testAttempts.ts'

const world = useAttemptWorld([testChannel({ name: 'b' }), testChannel({ name: 'a', family: 'A' })])

it('ends tasks that come at once by the channels of their family and by their own model', async () => {
  const { pool, attempts } = world
  await pool.query(
    `insert into cooldown (channel, model, until_at, slot_at)
     values ('b', 'familyb-image-2-vip', now() + interval '30 seconds', now()),
       ('a', 'familya-3-pro-image', now() + interval '30 seconds', now())`,
  )
  const task = async (family: string, model: string) => {
    const inserted = await insertTask(pool, { route: 'images.generations' })
    await setTask(pool, inserted.taskId, { family: `'${family}'`, model: `'${model}'` })
    return inserted
  }
  const refused = [await task('B', 'familyb-image-2-vip'), await task('A', 'familya-3-pro-image')]
  const other = await task('B', 'familyb-image-2-web')
  const ended = await task('B', 'familyb-image-2-vip')
  const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
  await attempts.failTask(ended.taskId, failure)
  const taskIds = [...refused, other, ended].map(({ taskId }) => taskId)
  const ends = await Promise.all([...taskIds, 'task_unknown'].map(attempts.endOfFirstCall))
  const limited = expect.objectContaining({ code: 'rate_limit_exceeded', cause: 'refused' })
  expect(ends).toEqual([
    ...refused.map(({ accountId }) => ({ failure: limited, accountId })),
    undefined,
    undefined,
    undefined,
  ])
})
