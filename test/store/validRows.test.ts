import { beforeAll, describe, expect, it } from 'vitest'
import { insertTask } from '../support/database/insertTask.ts'
import type { TestDatabase } from '../support/database/testDatabase.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'

let database: TestDatabase
let taskId: string
let accountId: string

beforeAll(async () => {
  database = await createTestDatabase()
  ;({ taskId, accountId } = await insertTask(database.pool))
  await database.pool.query(
    `insert into attempt
       (task_id, n, channel, model, answer_id, lease_until, process_id, via)
     values ($1, 1, 'b-main', 'familyb-image-2-vip', 'ans_x', now(), 'p', 'offer')`,
    [taskId],
  )
  return () => database.drop()
})

const checkViolation = { code: '23514' }

describe('a task that contradicts itself is refused', () => {
  it.each([
    ['an id of another form', `task_id = 'task_short'`],
    ['an unknown family', `family = 'C'`],
    ['an unknown action', `action = 'paint'`],
    ['a negative price', 'credits = -1'],
    ['an unknown status', `status = 'lost'`],
    ['live with an end', 'completed_at = now()'],
    ['live with a failure', `failure_code = 'upstream_error'`],
    ['processing with an answer', `status = 'processing', answer_id = 'ans_x'`],
    ['succeeded without an end', `status = 'succeeded', answer_id = 'ans_x'`],
    ['succeeded without an answer', `status = 'succeeded', completed_at = now()`],
    [
      'succeeded with a failure',
      `status = 'succeeded', completed_at = now(), answer_id = 'ans_x', failure_code = 'upstream_error'`,
    ],
    ['failed without a code', `status = 'failed', completed_at = now()`],
    ['with an open attempt that is not its last', 'open_attempt = 1'],
    [
      'failed with an open attempt',
      `status = 'failed', completed_at = now(), failure_code = 'x', attempts = 1, open_attempt = 1`,
    ],
    ['failed without an end', `status = 'failed', failure_code = 'upstream_error'`],
  ])('%s', async (_title, change) => {
    const updated = database.pool.query(`update task set ${change} where task_id = $1`, [taskId])
    await expect(updated).rejects.toMatchObject(checkViolation)
  })
})

describe('an attempt that contradicts itself is refused', () => {
  it.each([
    ['number 0', 'n = 0'],
    ['an unknown way to the process', `via = 'mail'`],
    ['closed without a class', 'closed_at = now()'],
    ['open with a class', `class = 'unknown'`],
    ['closed without a reason', `closed_at = now(), class = 'unknown'`],
    ['open with a reason', `reason = 'timeout'`],
    ['an unknown class', `closed_at = now(), class = 'fine', reason = 'timeout'`],
  ])('%s', async (_title, change) => {
    const updated = database.pool.query(`update attempt set ${change} where task_id = $1`, [taskId])
    await expect(updated).rejects.toMatchObject(checkViolation)
  })
})

describe('a ledger entry that is no movement of money is refused', () => {
  const settle = {
    task: 'task_x',
    kind: 'settle',
    debit: 'held',
    credit: 'spent',
    credits: 5,
    key: 'key_x',
    model: 'familyb-image-2-vip',
    channel: 'b-main',
  }
  type Entry = { readonly [Name in keyof typeof settle]: (typeof settle)[Name] | null }

  function insert(entry: Partial<Entry>): Promise<unknown> {
    const { task, kind, debit, credit, credits, key, model, channel }: Entry = {
      ...settle,
      ...entry,
    }
    return database.pool.query(
      `insert into ledger (account_id, task_id, kind, debit, credit, credits, key_id, model,
         channel)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [accountId, task, kind, debit, credit, credits, key, model, channel],
    )
  }

  const deposit = {
    task: null,
    kind: 'deposit',
    debit: 'funding',
    credit: 'available',
    channel: null,
  } as const
  const withdrawal = {
    task: null,
    kind: 'withdraw',
    debit: 'available',
    credit: 'funding',
    channel: null,
  } as const
  const hold = {
    task: 'task_y',
    kind: 'hold',
    debit: 'available',
    credit: 'held',
    channel: null,
  } as const

  it.each<[string, Partial<Entry>]>([
    ['an unknown kind', { kind: 'gift' }],
    ['a settle that gives the credits back', { credit: 'available' }],
    ['a release that spends the credits', { kind: 'release' }],
    ['negative credits', { credits: -5 }],
    ['a settle without a task', { task: null }],
    ['a settle without a key', { key: null }],
    ['a settle without a model', { model: null }],
    ['a settle without a channel', { channel: null }],
    ['a deposit for a task', { ...deposit, task: 'task_x', key: null, model: null }],
    ['a deposit of nothing', { ...deposit, credits: 0, key: null, model: null }],
    ['a deposit by a key', { ...deposit, model: null }],
    ['a deposit for a model', { ...deposit, key: null }],
    ['a withdrawal from nowhere', { ...deposit, kind: 'withdraw', key: null, model: null }],
    ['a deposit by a channel', { ...deposit, key: null, model: null, channel: 'b-main' }],
    ['a hold without a task', { ...hold, task: null, model: null }],
    ['a hold for a model', hold],
    ['a hold by a channel', { ...hold, model: null, channel: 'b-main' }],
    ['a hold of what is held', { ...hold, debit: 'held', model: null }],
  ])('%s', async (_title, entry) => {
    await expect(insert(entry)).rejects.toMatchObject(checkViolation)
  })

  it('while each true movement is taken', async () => {
    const entries = [
      {},
      { ...deposit, key: null, model: null },
      { ...withdrawal, key: null, model: null },
      { ...hold, model: null },
      { ...hold, task: 'task_z', key: null, model: null, credits: 0 },
      { kind: 'release', credit: 'available', task: 'task_z' },
    ]
    for (const entry of entries) {
      await expect(insert(entry)).resolves.toMatchObject({ rowCount: 1 })
    }
  })
})
