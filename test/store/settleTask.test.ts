import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { AnswerMeta } from '../../src/domain/upstream/answerMeta.ts'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { balanceOf } from '../support/database/money.ts'
import { openAttempt } from '../support/database/reconcileWorld.ts'
import { outcomesOf, testProcessId } from '../support/database/testAttempts.ts'

const world = useAttemptWorld()

it('sees the attempt that another transaction opens while a settlement waits for the task', async () => {
  const { pool } = world
  const { taskId, accountId } = await insertTask(pool)
  const { answerId } = await openAttempt(world.attempts, taskId)
  const image = { mimeType: 'image/png', bytes: 3, sha256: 'ab', width: 1, height: 1 } as const
  const native = { response: {}, imagePath: [] }
  const meta: AnswerMeta = { version: 1, taskId, attempt: 1, image, native }

  const client = await pool.connect()
  await client.query('begin')
  await client.query('select from task where task_id = $1 for update', [taskId])
  const settling = world.attempts.settleTask({ meta, answerId })
  await sleep(100)
  await client.query(
    `insert into attempt
       (task_id, n, channel, model, answer_id, upstream_key, lease_until, process_id, via)
     values ($1, 2, 'b-main', 'familyb-image-2-vip', 'ans_second', 'key', now() + interval '1 minute', $2,
       'workflow')`,
    [taskId, testProcessId],
  )
  await client.query(
    `insert into upload (upload_id, kind, task_id, sweep_after) values ('ans_second', 'answer', $1, 'infinity')`,
    [taskId],
  )
  await client.query('update task set checks = 0 where task_id = $1', [taskId])
  await client.query('commit')
  client.release()

  expect(await settling).toBe(true)
  const { rows } = await pool.query(
    `select sweep_after < 'infinity' as due from upload where upload_id = 'ans_second'`,
  )
  expect(rows).toEqual([{ due: true }])
  expect(await outcomesOf(pool, taskId)).toEqual(['succeeded image', 'open '])
  expect(await balanceOf(pool, accountId)).toMatchObject({ held: 0 })
})
