import { expect, it } from 'vitest'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { setTask } from '../support/database/reconcileWorld.ts'
import { testChannel } from '../support/database/testAttempts.ts'
import { watchStatements } from '../support/database/watchStatements.ts'

const failure = { code: 'upstream_error', cause: 'refused', workPossible: false } as const
const world = useAttemptWorld([testChannel({ name: 'b' }), testChannel({ name: 'a', family: 'A' })])

it('reads tasks that come at once together, each with the channels of its family and its own model', async () => {
  const { pool, attempts } = world
  const cooling = async (channel: string, model: string) =>
    pool.query(
      `insert into cooldown (channel, model, until_at, slot_at)
       values ($1, $2, now() + interval '30 seconds', now())`,
      [channel, model],
    )
  await cooling('b', 'familyb-image-2-vip')
  await cooling('a', 'familya-3-pro-image')
  const task = async (family: string, model: string) => {
    const inserted = await insertTask(pool, { route: 'images.generations' })
    await setTask(pool, inserted.taskId, { family: `'${family}'`, model: `'${model}'` })
    return inserted
  }
  const refused = [
    await task('B', 'familyb-image-2-vip'),
    await task('A', 'familya-3-pro-image'),
    await task('B', 'familyb-image-2-vip'),
  ]
  const others = [
    await task('B', 'familyb-image-2-web'),
    await task('A', 'familya-3.1-flash-lite-image'),
  ]
  const ended = await task('B', 'familyb-image-2-vip')
  await attempts.failTask(ended.taskId, failure)
  const taskIds = [...refused, ...others, ended].map(({ taskId }) => taskId)
  const sent = watchStatements()
  const ends = await Promise.all([...taskIds, 'task_unknown'].map(attempts.endOfFirstCall))
  expect(sent).toEqual(['look-at-queued'])
  expect(ends).toEqual([
    ...refused.map(({ accountId }) => ({
      failure: expect.objectContaining({ code: 'rate_limit_exceeded', cause: 'refused' }),
      accountId,
    })),
    ...others.map(() => undefined),
    undefined,
    undefined,
  ])
})
