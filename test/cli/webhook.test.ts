import { describe, expect, it } from 'vitest'
import { recordTry } from '../../src/store/webhooks/recordTry.ts'
import { claimOf, insertTestWebhook } from '../support/database/testWebhooks.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import { insertFailedTask, useCliWorld } from './openCliWorld.ts'

const world = useCliWorld()

describe('darkroom webhook', () => {
  it('lists webhooks and deliveries, delivers again, disables and deletes', async () => {
    const { accountId } = await insertFailedTask(world)
    const webhookId = await insertTestWebhook(world.pool, accountId, 'https://a.example/hook')
    const { taskId } = await insertFailedTask(world, accountId)
    const [claimed] = await claimOf(world.pool, webhookId)
    if (claimed === undefined) throw new Error('nothing to claim')
    const outcome = { httpStatus: 503, durationMs: 0 }
    await recordTry(world.pool, claimed, outcome, { kind: 'retry', waitMs: 5_000 })

    const [listed, ...others] = await world.json<readonly object[]>('webhook', 'list')
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
    const text = await world.run('webhook', 'deliveries', webhookId)
    expect(text.stdout).toMatch(
      new RegExp(`${claimed.deliveryId} +task.failed +${taskId} +pending`),
    )

    const shown = await world.json<{ timeline: readonly { event: string }[] }>(
      'task',
      'show',
      taskId,
    )
    expect(shown.timeline.find(({ event }) => event === 'webhook')).toMatchObject({
      webhook: webhookId,
      delivery: claimed.deliveryId,
      status: 'pending',
      tries: 1,
      http_status: 503,
    })

    const many = ['webhook', 'redeliver', '--webhook', webhookId]
    expect(await world.json(...many)).toEqual({ redelivered: [], refused: [] })
    const due = await world.json<DeliveryJson>('webhook', 'redeliver', claimed.deliveryId)
    expect(Date.parse(due.next_attempt_at ?? '')).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(await world.json('webhook', 'disable', webhookId)).toMatchObject({ status: 'disabled' })
    const failed = await world.json<readonly DeliveryJson[]>('webhook', 'deliveries', webhookId)
    expect(failed.map(({ status }) => status)).toEqual(['failed'])
    expect(await world.json('webhook', 'deliveries', webhookId, '--status', 'pending')).toEqual([])
    const would = await world.run(...many, '--dry-run')
    expect(would.stdout).toBe(`${claimed.deliveryId}\n`)
    expect((await world.run(...many)).stdout).toMatch(/disabled.*\n0 due, 1 refused\.\n$/)
    const refused = await world.run('webhook', 'redeliver', claimed.deliveryId)
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('disabled')])
    const noId = `wh_${'0'.repeat(24)}`
    const unknown = await world.run('webhook', 'deliveries', noId)
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining(noId)])
    expect(await world.json('webhook', 'delete', webhookId)).toMatchObject({ deleted: true })
    expect(await world.json('webhook', 'list')).toEqual([])
    const twice = await world.run('webhook', 'delete', webhookId)
    expect([twice.exitCode, twice.stderr]).toEqual([1, expect.stringContaining(webhookId)])
    const gone = await world.run('webhook', 'redeliver', claimed.deliveryId)
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining('deleted')])
  })
})
