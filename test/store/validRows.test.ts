import { beforeAll, expect, it } from 'vitest'
import { insertTask } from '../support/database/insertTask.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

beforeAll(async () => {
  const { taskId } = await insertTask(database.pool)
  await database.pool.query(
    `insert into attempt (task_id, n, channel, model, answer_id, lease_until, process_id, via)
     values ($1, 1, 'b-main', 'familyb-image-2-vip', 'ans_x', now(), 'p', 'direct')`,
    [taskId],
  )
})

// One of each rule about a whole row. The unique indexes and the tail of the ends are in other tests.
it.each([
  ['a live task with an end', 'task', 'completed_at = now()'],
  ['a live task with a failure', 'task', `failure_code = 'upstream_error'`],
  ['a live task with an answer', 'task', `answer_id = 'ans_x'`],
  [
    'a task that failed with its call open',
    'task',
    `status = 'failed', completed_at = now(), failure_code = 'x', attempts = 1, open_attempt = 1`,
  ],
  ['a refund of more than the price', 'task', 'refunded = credits + 1'],
  ['a refund of less than nothing', 'task', 'refunded = -1'],
  ['a closed attempt without its class', 'attempt', 'closed_at = now()'],
  ['an open attempt with a reason', 'attempt', `reason = 'timeout'`],
  ['negative credits', 'balance', 'available = -1'],
  ['more credits than were deposited', 'balance', 'available = deposited + 1'],
])('%s is refused', async (_what, table, change) => {
  const updated = database.pool.query(`update ${table} set ${change}`)
  await expect(updated).rejects.toMatchObject({ code: '23514' })
})

it.each([
  ['of an unknown kind', `null, 'gift', 5, null, null, null`],
  ['of nothing', `null, 'deposit', 0, null, null, null`],
  ['of negative credits', `null, 'deposit', -5, null, null, null`],
  ['that holds for no task', `null, 'hold', 5, 'key', null, null`],
  ['that refunds nothing', `'task_x', 'refund', 0, 'key', 'm', 'c'`],
  ['that refunds without a task', `null, 'refund', 5, 'key', 'm', 'c'`],
  ['that refunds without a channel', `'task_x', 'refund', 5, 'key', 'm', null`],
  ['that settles without a channel', `'task_x', 'settle', 5, 'key', 'm', null`],
])('a ledger entry %s is refused', async (_what, values) => {
  const inserted = database.pool.query(
    `insert into ledger (account_id, task_id, kind, credits, key_id, model, channel) values ('acct', ${values})`,
  )
  await expect(inserted).rejects.toMatchObject({ code: '23514' })
})
