import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskFailureCode } from '../../src/domain/failure.ts'
import { taskFailureMessages } from '../../src/domain/failure.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import type { Client, TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { moneyOf } from '../support/database/money.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

const models = { A: 'familya-2.5-flash-image', B: 'familyb-image-2-vip' } as const
type Family = keyof typeof models
type Row = readonly [fault: string, families: string, outcome: string, code?: TaskFailureCode]

/** Answers that end the task after the first call. */
const endedByOneCall: readonly Row[] = [
  ['400', 'AB', 'rejected invalid_request', 'upstream_invalid_request'],
  ['status code=413', 'AB', 'rejected invalid_request', 'upstream_invalid_request'],
  ['moderation', 'AB', 'rejected content_policy', 'content_policy_violation'],
  ['block', 'A', 'rejected content_policy', 'content_policy_violation'],
  ['finish reason=IMAGE_SAFETY', 'A', 'rejected content_policy', 'content_policy_violation'],
  ['zero', 'AB', 'rejected no_image', 'no_image_generated'],
  ['text-only', 'A', 'rejected no_image', 'no_image_generated'],
  ['quota', 'AB', 'exhausted quota_exhausted', 'rate_limit_exceeded'],
  ['billing', 'B', 'exhausted quota_exhausted', 'rate_limit_exceeded'],
]

/** Two such tasks in a row pause the channel, so these tests reset its count and run one by one. */
const operatorFaults: readonly Row[] = [
  ['401', 'AB', 'operator_fault credential'],
  ['bad-key', 'A', 'operator_fault credential'],
  ['403 about=project', 'AB', 'operator_fault forbidden'],
  ['404', 'AB', 'operator_fault model_not_found'],
]

/** Work may have been done: Darkroom calls again, three times at most. */
const unknowns: readonly Row[] = [
  ['500', 'AB', 'unknown server_error'],
  ['502', 'B', 'unknown server_error'],
  ['503-html', 'A', 'unknown server_error'],
  ['reset', 'AB', 'unknown connection_lost'],
  ['truncated', 'B', 'unknown connection_lost'],
  ['stall', 'A', 'unknown timeout'],
  ['hang', 'B', 'unknown timeout'],
  ['html', 'A', 'unknown broken_body'],
  ['empty', 'B', 'unknown broken_body'],
  ['bad-base64', 'A', 'unknown broken_body'],
  ['cut-image', 'B', 'unknown broken_body'],
  ['url', 'AB', 'unknown broken_body'],
  ['redirect', 'B', 'unknown unexpected_status'],
  ['403 about=html', 'A', 'unknown forbidden'],
]
const unknownForEver: readonly Row[] = [['500', 'AB', 'unknown server_error']]

const casesOf = (rows: readonly Row[], more = '') =>
  rows.flatMap(([fault, families, outcome, code = 'upstream_error']) =>
    (['A', 'B'] as const)
      .filter((family) => families.includes(family))
      .map((family) => ({ family, fault: fault + more, outcome, code })),
  )

let service: TestService
let client: Client
beforeAll(async () => {
  // Longer than any call that succeeds here, and short enough to wait for.
  service = await startTestService({ channel: { timeoutSeconds: 12 } })
  client = createClient(service.url, (await service.account()).secret)
}, stackStartMsMax)
afterAll(() => service.stop())

/** All tasks are submitted at once, so that their waits overlap. */
const underWay = new Map<string, Promise<TaskRecord>>()
const nameOf = (one: { family: Family; fault: string }) => `${one.family} ${one.fault}`
async function submit(one: { family: Family; fault: string }): Promise<TaskRecord> {
  const prompt = `${nameOf(one)} [sim:${one.fault}]`
  const { task_id } = await client.accepted(generateBody({ model: models[one.family], prompt }))
  return client.ended(task_id)
}

function callsOf(one: { family: Family; fault: string }) {
  return service.simulator.calls({ prompt: `${nameOf(one)} [` })
}

describe('an upstream answer that ends the task', () => {
  const cases = casesOf(endedByOneCall)
  beforeAll(() => cases.forEach((one) => underWay.set(nameOf(one), submit(one))))

  it.each(cases)('ends it after one call: $fault of family $family [record-6]', async (one) => {
    const record = await underWay.get(nameOf(one))
    expect(record?.status).toBe('failed')
    expect(record?.error).toEqual({ code: one.code, message: taskFailureMessages[one.code] })
    expect(record).not.toHaveProperty('output')
    expect(await callsOf(one)).toHaveLength(1)
    const taskId = record?.task_id ?? ''
    expect(await outcomesOf(service.pool, taskId)).toEqual([one.outcome])
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
  })
})

describe('an unknown outcome', () => {
  const once = casesOf(unknowns, ' times=1')
  const forEver = casesOf(unknownForEver)
  beforeAll(() => [...once, ...forEver].forEach((one) => underWay.set(nameOf(one), submit(one))))

  it.each(forEver)(
    'fails the task after three calls and releases its hold: $fault of family $family [limit-4]',
    async (one) => {
      const record = await underWay.get(nameOf(one))
      expect(record).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
      expect(await callsOf(one)).toHaveLength(3)
      const taskId = record?.task_id ?? ''
      expect(await outcomesOf(service.pool, taskId)).toEqual(Array(3).fill(one.outcome))
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    },
  )

  it.each(once)(
    'is followed by another call with the same upstream key: $fault of family $family [limit-4]',
    async (one) => {
      const record = await underWay.get(nameOf(one))
      expect(record?.status).toBe('succeeded')
      const keys = (await callsOf(one)).map(({ idempotencyKey }) => idempotencyKey)
      expect(keys).toEqual([keys[0], keys[0]])
      const taskId = record?.task_id ?? ''
      expect(await outcomesOf(service.pool, taskId)).toEqual([one.outcome, 'succeeded image'])
      expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    },
  )

  it('never makes the gateway request a URL that an upstream names [answer-4]', async () => {
    expect(await service.simulator.strayRequests()).toBe(0)
  })
})

describe('a fault that only the operator can fix', () => {
  it.each(casesOf(operatorFaults))(
    'fails the task after one call and releases its hold: $fault of family $family',
    async (one) => {
      await service.pool.query('update channel set faults = 0, fault_task_id = null')
      const record = await submit(one)
      expect(record).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
      expect(await callsOf(one)).toHaveLength(1)
      expect(await outcomesOf(service.pool, record.task_id)).toEqual([one.outcome])
      expect(await moneyOf(service.pool, record.task_id)).toEqual(['hold', 'release'])
    },
  )

  it('pauses the channel with the reason after two tasks in a row', async () => {
    await service.pool.query('update channel set faults = 0, fault_task_id = null')
    for (const fault of ['401 times=1', '404 times=1']) await submit({ family: 'B', fault })
    const { rows } = await service.pool.query(
      `select name, paused_at is not null as paused, pause_reason as reason
       from channel order by name`,
    )
    expect(rows).toEqual([
      { name: 'a-main', paused: false, reason: null },
      { name: 'b-main', paused: true, reason: expect.stringContaining('model_not_found') },
    ])
  })
})

describe('the ledger after all tests', () => {
  it('verifies, and no credits are held', async () => {
    expect(await verifyLedger(service.pool)).toEqual([])
    const { rows } = await service.pool.query('select sum(held)::int as held from balance')
    expect(rows).toEqual([{ held: 0 }])
  })
})
