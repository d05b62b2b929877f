import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { claimDelivery, recordTry } from '../../src/store/webhooks/tries.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { insertTestWebhook } from '../support/database/testWebhooks.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import type { CliWorld } from './openCliWorld.ts'
import { insertFailedTask, openCliWorld } from './openCliWorld.ts'

let world: CliWorld
let attempts: AttemptStore
beforeAll(async () => {
  world = await openCliWorld()
  attempts = await createTestAttempts(world.pool)
  return () => world.close()
})

const json = <Answer>(...args: string[]) => darkroomJson<Answer>(args, world.environment)

describe('darkroom webhook', () => {
  it('lists webhooks and deliveries, delivers again, disables and deletes', async () => {
    const { accountId } = await insertFailedTask(world.pool, attempts)
    const webhookId = await insertTestWebhook(world.pool, accountId, 'https://a.example/hook')
    const { taskId } = await insertFailedTask(world.pool, attempts, accountId)
    const claimed = await claimDelivery(world.pool, webhookId, 'first')
    if (claimed === undefined) throw new Error('nothing to claim')
    const outcome = { httpStatus: 503, durationMs: 0 }
    await recordTry(world.pool, claimed, outcome, { kind: 'retry', waitMs: 5_000 })

    const [listed, ...others] = await json<readonly object[]>('webhook', 'list')
    expect(others).toEqual([])
    expect(listed).toEqual({
      webhook_id: webhookId,
      account: expect.any(String),
      url: 'https://a.example/hook',
      status: 'active',
      key_id: expect.any(String),
      created_at: expect.any(String),
      pending: 1,
      oldest_pending_at: expect.any(String),
      failing_since: expect.any(String),
    })
    const text = await runDarkroom(['webhook', 'deliveries', webhookId], world.environment)
    expect(text.stdout).toMatch(
      new RegExp(`${claimed.deliveryId} +task.failed +${taskId} +pending`),
    )

    const shown = await json<{ timeline: readonly { event: string }[] }>('task', 'show', taskId)
    expect(shown.timeline.find(({ event }) => event === 'webhook')).toMatchObject({
      webhook: webhookId,
      delivery: claimed.deliveryId,
      status: 'pending',
      tries: 1,
      http_status: 503,
    })

    const due = await json<DeliveryJson>('webhook', 'redeliver', claimed.deliveryId)
    expect(Date.parse(due.next_attempt_at ?? '')).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(await json('webhook', 'disable', webhookId)).toMatchObject({ status: 'disabled' })
    const failed = await json<readonly DeliveryJson[]>('webhook', 'deliveries', webhookId)
    expect(failed.map(({ status }) => status)).toEqual(['failed'])
    expect(await json('webhook', 'deliveries', webhookId, '--status', 'pending')).toEqual([])
    const refused = await runDarkroom(
      ['webhook', 'redeliver', claimed.deliveryId],
      world.environment,
    )
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('disabled')])
    const unknown = await runDarkroom(['webhook', 'deliveries', 'wh_none'], world.environment)
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('wh_none')])
    expect(await json('webhook', 'delete', webhookId)).toMatchObject({ deleted: true })
    expect(await json('webhook', 'list')).toEqual([])
    const twice = await runDarkroom(['webhook', 'delete', webhookId], world.environment)
    expect([twice.exitCode, twice.stderr]).toEqual([1, expect.stringContaining(webhookId)])
    const gone = await runDarkroom(['webhook', 'redeliver', claimed.deliveryId], world.environment)
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining('deleted')])
  })
})
