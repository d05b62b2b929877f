import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPostDelivery } from '../../src/receivers/postDelivery.ts'
import { newWebhookId } from '../../src/domain/webhooks/webhook.ts'
import type { DeliverDue } from '../../src/tasks/webhooks/deliverDue.ts'
import { createDeliverDue, keptForWell, triesMax } from '../../src/tasks/webhooks/deliverDue.ts'
import { insertTask } from '../support/database/insertTask.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { quiet } from '../support/quiet.ts'
import { until } from '../support/timing.ts'
import type { Receiver } from '../support/webhooks/receiver.ts'
import { startReceiver } from '../support/webhooks/receiver.ts'

const database = useTestDatabase()

let receiver: Receiver
const loops: DeliverDue[] = []
const errors: unknown[] = []

beforeEach(async () => {
  receiver = await startReceiver()
})

afterEach(async () => {
  const stopped = loops.splice(0).map(({ stop }) => stop())
  receiver.hangUp()
  await Promise.all(stopped)
  await receiver.close()
  await database.pool.query('delete from webhook_delivery')
  if (errors.length > 0) throw new AggregateError(errors.splice(0))
})

/** Starts the loop of one worker. */
function startLoop(): DeliverDue {
  const loop = createDeliverDue({
    ...quiet,
    log: { ...quiet.log, warn: (_event, fields) => errors.push(fields?.error) },
    pool: database.pool,
    post: createPostDelivery({ webhookPrivate: 'allow' }),
    keys: [{ id: 'w1', secret: 'a secret of the tests' }],
    assetUrl: () => undefined,
  })
  loops.push(loop)
  loop.start()
  return loop
}

/** Inserts webhooks of one account that all have the address `path` of the receiver, and returns their ids. */
async function insertWebhooks(
  path: string,
  { count = 1, failing = false } = {},
): Promise<readonly string[]> {
  const { accountId } = await insertTask(database.pool)
  const ids = Array.from({ length: count }, () => newWebhookId())
  await database.pool.query(
    `insert into webhook (webhook_id, account_id, url, events, key_id, failing_since)
     select id, $2, $3, '{task.failed}', 'w1', case when $4 then now() end from unnest($1::text[]) id`,
    [ids, accountId, `${receiver.url}${path}`, failing],
  )
  return ids
}

/** Makes `each` deliveries of every webhook due. */
async function makeDue(webhookIds: readonly string[], each: number): Promise<void> {
  await database.pool.query(
    `insert into webhook_delivery (delivery_id, webhook_id, event)
     select 'whd_' || replace(gen_random_uuid()::text, '-', ''), id, 'webhook.test'
     from unnest($1::text[]) id, generate_series(1, $2)`,
    [webhookIds, each],
  )
}

const arrived = (path: string) => receiver.received.filter((each) => each.path === path)

describe('one receiver that is well, beside receivers that never answer', () => {
  it('gets its delivery within 2 seconds', async () => {
    const underWay = triesMax - keptForWell
    receiver.behave = (request, response) => {
      if (request.url === '/well') response.writeHead(200).end()
    }
    await makeDue(await insertWebhooks('/dead', { count: 200, failing: true }), 5)
    const well = await insertWebhooks('/well')
    startLoop()
    await until('as many tries as there may be', () =>
      arrived('/dead').length >= underWay ? true : undefined,
    )
    await sleep(500)
    expect(arrived('/dead')).toHaveLength(underWay)
    const dueAtMs = Date.now()
    await makeDue(well, 1)
    const [delivered] = await receiver.waitFor(1, '/well')
    expect((delivered?.atMs ?? Infinity) - dueAtMs).toBeLessThan(2_000)
  })
})

describe('20 workers and one webhook with 100 due tries', () => {
  it('make at most four tries at a time in all, and each once', async () => {
    let open = 0
    let openMax = 0
    receiver.behave = (_request, response) => {
      open += 1
      openMax = Math.max(openMax, open)
      setTimeout(() => {
        open -= 1
        response.writeHead(200).end()
      }, 50)
    }
    await makeDue(await insertWebhooks('/busy'), 100)
    for (let n = 0; n < 20; n += 1) startLoop()
    await until('all recorded', async () => {
      const { rowCount } = await database.pool.query(
        `select from webhook_delivery where status = 'delivered'`,
      )
      return rowCount === 100 ? true : undefined
    })
    expect(openMax).toBe(4)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(100)
    expect(receiver.received).toHaveLength(100)
  })
})

describe('a worker that stops', () => {
  it('finishes and records the tries under way, and begins no other', async () => {
    const answers: (() => void)[] = []
    receiver.behave = (_request, response) => {
      answers.push(() => response.writeHead(200).end())
    }
    await makeDue(await insertWebhooks('/slow'), 6)
    const { stop } = startLoop()
    await receiver.waitFor(4)
    const stopped = stop()
    for (const answer of answers) answer()
    await stopped
    expect(receiver.received).toHaveLength(4)
    const { rows } = await database.pool.query(
      `select status, count(*)::int from webhook_delivery group by status order by status`,
    )
    expect(rows).toEqual([
      { status: 'delivered', count: 4 },
      { status: 'pending', count: 2 },
    ])
  })
})
