import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { createPgBouncer, pgBouncerProgram } from '../support/database/pgBouncer.ts'
import type { TestService } from '../support/service/testService.ts'
import { startDarkroomProcess, startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'

const pgBouncer = createPgBouncer()
let service: TestService
let client: Client

describe.runIf(existsSync(pgBouncerProgram))('behind PgBouncer in transaction mode', () => {
  beforeAll(async () => {
    service = await startTestService({ pooler: pgBouncer.start })
    client = createClient(service.url, (await service.account()).secret)
    return async () => {
      await service.stop()
      await pgBouncer.stop()
    }
  }, stackStartMsMax)

  it('tasks of all kinds succeed, also many at once', async () => {
    const synchronous = Array.from({ length: 20 }, async (_, n) => {
      const answer = await generate(client, { prompt: `Pooled ${n}` })
      await answer.arrayBuffer()
      return answer.status
    })
    const asynchronous = Array.from({ length: 10 }, async (_, n) => {
      const { task_id } = await client.accepted(generateBody({ prompt: `Pooled later ${n}` }))
      return (await client.ended(task_id)).status
    })
    expect(await Promise.all(synchronous)).toEqual(Array(20).fill(200))
    expect(await Promise.all(asynchronous)).toEqual(Array(10).fill('succeeded'))
    expect(await service.simulator.calls({ prompt: 'Pooled' })).toHaveLength(30)
    await assertLedgerVerifies(service.pool)
  }, 30_000)

  it.each(['api', 'worker'] as const)('no process starts without sessions: %s', async (name) => {
    const pooled = service.environment['DATABASE_URL'] ?? ''
    const environment = { ...service.environment, DATABASE_SESSION_URL: pooled }
    const started = startDarkroomProcess(name, tempFolder(), environment)
    await expect(started).rejects.toThrow('Set DATABASE_SESSION_URL to PostgreSQL itself')
  })
})
