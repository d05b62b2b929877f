import { beforeAll, describe, expect, it } from 'vitest'
import type { CliWorld } from './openCliWorld.ts'
import { openCliWorld } from './openCliWorld.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'

let world: CliWorld

beforeAll(async () => {
  world = await openCliWorld()
  return () => world.close()
})

describe('darkroom ledger verify', () => {
  it('lists violations, with exit code 1', async () => {
    const { account_id } = await darkroomJson<{ account_id: string }>(
      ['account', 'create', 'short', '--credits', '9'],
      world.environment,
    )
    await world.pool.query('update balance set available = 8 where account_id = $1', [account_id])
    const { exitCode, stdout } = await runDarkroom(
      ['ledger', 'verify', '--json'],
      world.environment,
    )
    await world.pool.query('update balance set available = 9 where account_id = $1', [account_id])
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      violations: [
        { kind: 'available_differs', account_id },
        { kind: 'deposits_differ', account_id },
      ],
    })
  })
})
