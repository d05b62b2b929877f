import { beforeAll, describe, expect, it } from 'vitest'
import type { CliWorld } from './openCliWorld.ts'
import { openCliWorld } from './openCliWorld.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'

let world: CliWorld

beforeAll(async () => {
  world = await openCliWorld({ environment: { KEY_PEPPER: 'test:pepper-of-the-tests-0123456789' } })
  return () => world.close()
})

type Shown = { account_id: string; name: string; available: number; held: number; spent: number }

describe('darkroom account', () => {
  it('creates an account with a deposit, tops it up and shows exactly five fields', async () => {
    const created = await darkroomJson<Shown>(
      ['account', 'create', 'acme', '--credits', '100', '--models', 'familya-3-pro-image'],
      world.environment,
    )
    expect(created).toEqual({
      account_id: expect.stringMatching(/^acct_[0-9A-Za-z]{16}$/),
      name: 'acme',
      available: 100,
      held: 0,
      spent: 0,
    })
    await darkroomJson(['account', 'topup', 'acme', '23'], world.environment)
    const shown = await darkroomJson<Shown>(['account', 'show', 'acme'], world.environment)
    expect(shown).toEqual({ ...created, available: 123 })
    const listed = await darkroomJson<object[]>(['account', 'list'], world.environment)
    expect(listed).toMatchObject([{ name: 'acme', models: ['familya-3-pro-image'] }])
    const verified = await darkroomJson(['ledger', 'verify'], world.environment)
    expect(verified).toEqual({ ok: true, violations: [] })
  })

  it('refuses to create a name twice, and names that do not exist, with exit code 1', async () => {
    await darkroomJson(['account', 'create', 'twice', '--credits', '5'], world.environment)
    const second = await runDarkroom(
      ['account', 'create', 'twice', '--credits', '7'],
      world.environment,
    )
    expect(second).toMatchObject({ exitCode: 1, stdout: '' })
    expect(second.stderr).toContain('An account named "twice" already exists')
    const shown = await darkroomJson<Shown>(['account', 'show', 'twice'], world.environment)
    expect(shown.available).toBe(5)
    for (const args of [
      ['account', 'show', 'nobody'],
      ['account', 'topup', 'nobody', '1'],
      ['key', 'create', 'nobody'],
      ['key', 'list', 'nobody'],
    ]) {
      expect((await runDarkroom(args, world.environment)).exitCode).toBe(1)
    }
  })

  it('shows a table without --json', async () => {
    await darkroomJson(['account', 'create', 'people', '--credits', '42'], world.environment)
    const { stdout, stderr } = await runDarkroom(['account', 'list'], world.environment)
    expect(stdout).toMatch(/^NAME +AVAILABLE +HELD +SPENT +MODELS +ID\n/)
    expect(stdout).toMatch(/^people +42 +0 +0 +all +acct_/m)
    expect(stderr).toBe('')
  })
})
