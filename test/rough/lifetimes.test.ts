import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import type { TaskRecord } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { editBody, generateBody } from '../support/clients/requestBodies.ts'
import { moneyOf } from '../support/database/money.ts'
import { startTestService } from '../support/service/testService.ts'
import { until } from '../support/timing.ts'

const service = await startTestService({
  // Long enough that the tests of each part end before it does, also on a busy machine.
  environment: { RETENTION_SECONDS: '5', TOMBSTONE_SECONDS: '10' },
})
const client = createClient(service.url, (await service.account()).secret)
afterAll(() => service.stop())

const key = { 'idempotency-key': 'used again' }
const body = editBody({ prompt: 'Short-lived' })

/** The tests follow one task and depend on their order. */
describe('a task through its retention and tombstone', () => {
  let record: TaskRecord
  let taskId: string
  let assetUrl: string
  let uploads: readonly string[]
  let failedId: string
  beforeAll(async () => {
    taskId = (await client.accepted(body, key)).task_id
    failedId = (await client.accepted(generateBody({ prompt: 'x [sim:moderation]' }))).task_id
    record = await client.ended(taskId)
    assetUrl = record.output?.assets[0]?.url ?? ''
    uploads = await uploadsOf(taskId)
  })

  async function uploadsOf(taskId: string): Promise<readonly string[]> {
    const { rows } = await service.pool.query<{ id: string }>(
      'select upload_id as id from upload where task_id = $1',
      [taskId],
    )
    return rows.map(({ id }) => id)
  }

  it('serves the same bytes at the same URL until its retention ends [life-1]', async () => {
    expect(uploads.map((id) => existsSync(join(service.blobDir, id)))).toContain(true)
    const digests = new Set<string>()
    const urls = new Set<string>()
    let reads = 0
    for (;;) {
      const now: unknown = await (await client.lookup(taskId)).json()
      if (Object(now).status !== 'succeeded') break
      const answer = await fetch(assetUrl)
      if (answer.status !== 200) break
      urls.add(Object(now).output.assets[0].url)
      digests.add(
        createHash('sha256')
          .update(new Uint8Array(await answer.arrayBuffer()))
          .digest('hex'),
      )
      reads += 1
      await sleep(200)
    }
    expect(reads).toBeGreaterThan(3)
    expect(digests.size).toBe(1)
    expect([...urls]).toEqual([assetUrl])
  })

  it('does not expire when it failed: its record stays the same [life-2]', async () => {
    expect(await client.ended(failedId)).toMatchObject({
      status: 'failed',
      error: { code: 'content_policy_violation' },
    })
  })

  it('then reads `expired` with 200 and without output; its asset and its result return 404 [life-2]', async () => {
    const answer = await client.lookup(taskId)
    expect(answer.status).toBe(200)
    const { output: _output, result: _result, ...rest } = record
    expect(await answer.json()).toEqual({ ...rest, status: 'expired' })
    expect((await fetch(assetUrl)).status).toBe(404)
    const result = await fetch(`${client.url}/v1/tasks/${taskId}/result`, {
      headers: { authorization: client.authorization },
    })
    expect(result.status).toBe(404)
  })

  it('still replays its idempotency key, without a second image [idem-9]', async () => {
    const replay = await client.submit(body, key)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(await replay.json()).toMatchObject({ task_id: taskId })
  })

  it('keeps its bytes a quarter of an hour longer, for downloads under way [life-4]', async () => {
    const { rows } = await service.pool.query(
      `select (extract(epoch from sweep_after - expires_at))::int as grace
       from upload join task on answer_id = upload_id where task.task_id = $1`,
      [taskId],
    )
    expect(rows).toEqual([{ grace: 900 }])
    expect(uploads.some((id) => existsSync(join(service.blobDir, id)))).toBe(true)
  })

  it('then leaves no bytes in the blob store [life-4]', async () => {
    expect(uploads.length).toBeGreaterThan(0)
    await service.pool.query(
      `update upload set sweep_after = sweep_after - interval '15 minutes' where task_id = $1`,
      [taskId],
    )
    await until('the sweep', () =>
      uploads.every((id) => !existsSync(join(service.blobDir, id))) ? true : undefined,
    )
    expect(
      await until('its rows gone', async () =>
        (await uploadsOf(taskId)).length === 0 ? true : undefined,
      ),
    ).toBe(true)
    const kept = 'select 1 from task where task_id = $1 and native_response is not null'
    expect((await service.pool.query(kept, [taskId])).rowCount).toBe(0)
  })

  it('returns 404 after its tombstone; its key then makes a new task with a new image [idem-9, life-3]', async () => {
    const gone = await until(
      'the end of the record',
      async () => {
        const answer = await client.lookup(taskId)
        return answer.status === 404 ? answer : undefined
      },
      30_000,
    )
    expect(await gone.json()).toMatchObject({ error: { code: 'task_not_found' } })
    const again = await client.submit(body, key)
    expect(again.status).toBe(202)
    expect(again.headers.get('idempotent-replayed')).toBe('false')
    const next = Object(await again.json()).task_id
    expect(next).not.toBe(taskId)
    const renewed = await client.ended(next)
    expect(renewed.status).toBe('succeeded')
    expect(renewed.output?.assets[0]?.url).not.toBe(assetUrl)
    expect(await service.simulator.calls({ prompt: 'Short-lived' })).toHaveLength(2)
  })

  it('keeps its ledger entries after it is purged, and the ledger verifies', async () => {
    await until(
      'the purge of both',
      async () => {
        const found = await service.pool.query('select 1 from task where task_id in ($1, $2)', [
          taskId,
          failedId,
        ])
        return found.rowCount === 0 ? true : undefined
      },
      30_000,
    )
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'settle'])
    expect(await moneyOf(service.pool, failedId)).toEqual(['hold', 'release'])
    expect(await verifyLedger(service.pool)).toEqual([])
  })
})
