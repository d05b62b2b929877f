import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AttemptStore } from '../../src/domain/ports/attemptStore.ts'
import { createAccountStore } from '../../src/wiring/stores.ts'
import type { CliWorld } from './openCliWorld.ts'
import { insertFailedTask, openCliWorld } from './openCliWorld.ts'
import { balanceOf } from '../support/database/money.ts'
import { createTestAttempts } from '../support/database/testAttempts.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'

let world: CliWorld
let attempts: AttemptStore

beforeAll(async () => {
  world = await openCliWorld({ withOperatorFile: true })
  attempts = await createTestAttempts(world.pool)
  return () => world.close()
})

describe('darkroom task retry', () => {
  it('retries a failed task once, at the price in the operator file', async () => {
    const { taskId, accountId } = await insertFailedTask(world.pool, attempts)
    type Retried = { task_id: string; retry_of: string }
    const retried = await darkroomJson<Retried>(['task', 'retry', taskId], world.environment)
    expect(retried).toEqual({ task_id: expect.stringMatching(/^task_/), retry_of: taskId })
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ available: 970, held: 30 })
    const again = await runDarkroom(['task', 'retry', taskId], world.environment)
    expect(again.exitCode).toBe(1)
    expect(again.stderr).toContain(retried.task_id)
  })

  it('retries many tasks by code, each once; a dry run only lists them', async () => {
    const { accountId } = await createAccount(1_000)
    const ids = [
      (await insertFailedTask(world.pool, attempts, accountId)).taskId,
      (await insertFailedTask(world.pool, attempts, accountId)).taskId,
    ]
    const many = ['task', 'retry', '--code', 'upstream_error', '--since', '1h']
    type DryRun = { would_retry: string[] }
    const dry = await darkroomJson<DryRun>([...many, '--dry-run'], world.environment)
    expect(dry.would_retry).toEqual(expect.arrayContaining(ids))
    expect(await balanceOf(world.pool, accountId)).toMatchObject({ held: 0 })
    type Many = { retried: { retry_of: string }[]; refused: unknown[] }
    const done = await darkroomJson<Many>(many, world.environment)
    expect(done.retried.map(({ retry_of }) => retry_of)).toEqual(dry.would_retry)
    expect(done.refused).toEqual([])
    expect(await darkroomJson(many, world.environment)).toEqual({ retried: [], refused: [] })
  })

  it('retries the tasks it can when others are refused, with exit code 1', async () => {
    const { accountId } = await createAccount(50)
    const older = await insertFailedTask(world.pool, attempts, accountId)
    const newer = await insertFailedTask(world.pool, attempts, accountId)
    const many = ['task', 'retry', '--code', 'upstream_error', '--json']
    const { exitCode, stdout } = await runDarkroom(many, world.environment)
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      retried: [{ task_id: expect.any(String), retry_of: newer.taskId }],
      refused: [
        {
          task_id: older.taskId,
          reason: 'insufficient',
          message: expect.stringContaining('it costs 30 credits'),
        },
      ],
    })
  })
})

async function createAccount(credits: number) {
  const name = `acct_${randomBytes(4).toString('hex')}`
  await createAccountStore(world.pool).createAccount({ accountId: name, name, credits })
  return { accountId: name }
}
