import { describe, expect, it } from 'vitest'
import { authenticate } from '../../src/tasks/keySecrets.ts'
import { pepper, useCliWorld } from './openCliWorld.ts'

const world = useCliWorld()

type Shown = { account_id: string; name: string; available: number; held: number; spent: number }

describe('darkroom account', () => {
  it('creates an account with a deposit, tops it up, and shows it as JSON and as a table', async () => {
    const created = await world.json<Shown>(
      'account',
      'create',
      'acme',
      '--credits',
      '100',
      '--models',
      'familya-3-pro-image',
    )
    expect(created).toEqual({
      account_id: expect.stringMatching(/^acct_[0-9A-Za-z]{16}$/),
      name: 'acme',
      available: 100,
      held: 0,
      spent: 0,
      models: ['familya-3-pro-image'],
      created_at: expect.any(String),
      limits: { requests: null, live_tasks: null },
      alert_below: null,
    })
    await world.json('account', 'topup', 'acme', '23')
    const shown = await world.json<Shown>('account', 'show', 'acme')
    expect(shown).toEqual({ ...created, available: 123 })
    const listed = await world.json<object[]>('account', 'list')
    expect(listed).toMatchObject([{ name: 'acme', models: ['familya-3-pro-image'] }])
    const { stdout } = await world.run('account', 'list')
    expect(stdout).toMatch(/^NAME +AVAILABLE +HELD +SPENT +MODELS +ID\n/)
    expect(stdout).toMatch(/^acme +123 +0 +0 +familya-3-pro-image +acct_/m)
    const verified = await world.json('ledger', 'verify')
    expect(verified).toEqual({ ok: true, violations: [] })
  })

  it('sets and removes limits, shows what is left of them, and records it [rate-1]', async () => {
    const limit = ['account', 'limit', 'limited']
    const both = [...limit, '--requests', '60/minute', '--live-tasks', '50']
    expect((await world.run(...both)).stderr).toContain('There is no account named "limited"')
    await world.json('account', 'create', 'limited')
    const limits = {
      requests: { limit: 60, period: 'minute', remaining: 60 },
      live_tasks: { limit: 50, used: 0 },
    }
    expect(await world.json(...both)).toMatchObject({ name: 'limited', limits })
    const { stdout } = await world.run('account', 'show', 'limited')
    expect(stdout).toMatch(/^requests +60\/minute, 60 now$/m)
    expect(stdout).toMatch(/^live tasks +0 of 50$/m)
    await world.json(...limit, '--requests', 'none')
    const shown = await world.json('account', 'show', 'limited')
    expect(shown).toMatchObject({ limits: { ...limits, requests: null } })
    const wrong = ['60', '0/minute', '1/day', '100001/second', '-1/minute', '1.5/hour', ' 1/hour']
    for (const requests of wrong) {
      expect((await world.run(...limit, '--requests', requests)).exitCode).toBe(2)
    }
    for (const tasks of ['0', '1.5', 'all']) {
      expect((await world.run(...limit, '--live-tasks', tasks)).exitCode).toBe(2)
    }
    expect((await world.run(...limit)).exitCode).toBe(2)
    const { rows } = await world.pool.query(
      `select params, outcome from audit where target = 'limited' and action = 'account.limit' order by audit_id`,
    )
    const params = { requests: '60/minute', live_tasks: 50 }
    expect(rows).toEqual([
      { params, outcome: 'not_found' },
      { params, outcome: 'done' },
      { params: { requests: null }, outcome: 'done' },
    ])
  })

  it('sets and removes the alert', async () => {
    await world.json('account', 'create', 'alerted')
    const alert = ['account', 'alert', 'alerted', '--below']
    expect(await world.json(...alert, '500')).toMatchObject({ name: 'alerted', alert_below: 500 })
    expect((await world.run('account', 'show', 'alerted')).stdout).toMatch(/^alert below +500$/m)
    expect(await world.json(...alert, 'none')).toMatchObject({ alert_below: null })
  })
})

describe('darkroom key', () => {
  it('creates keys that authenticate until they are revoked, and lists them without secrets', async () => {
    await world.json('account', 'create', 'keys')
    const create = ['key', 'create', 'keys', '--expires-days', '0.25']
    const made = await world.json<{ key_id: string; secret: string }>(...create)
    expect(Object.keys(made).toSorted()).toEqual(['key_id', 'secret'])
    const callerOf = (secret: string) => authenticate(world.pool, [pepper], secret)
    expect(await callerOf(made.secret)).toMatchObject({ keyId: made.key_id })

    await world.json('key', 'revoke', made.key_id)
    expect(await callerOf(made.secret)).toBeUndefined()

    const listing = await world.run('key', 'list', 'keys', '--json')
    expect(listing.stdout).not.toContain(made.secret)
    const [key]: Record<string, string>[] = JSON.parse(listing.stdout)
    expect(key).toEqual({
      key_id: made.key_id,
      prefix: made.secret.slice(0, 7),
      pepper_id: pepper.id,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      revoked_at: expect.any(String),
      budget: null,
      used: null,
      renews_at: null,
    })
    const validForMs = Date.parse(key?.['expires_at'] ?? '') - Date.parse(key?.['created_at'] ?? '')
    expect(validForMs).toBe(6 * 3_600_000)
  })

  it('sets and removes budgets, and shows what is used of them [budget-1]', async () => {
    await world.json('account', 'create', 'budgets')
    const create = ['key', 'create', 'budgets', '--budget', '11/month']
    const { key_id: keyId } = await world.json<{ key_id: string }>(...create)
    const { stdout } = await world.run('key', 'list', 'budgets')
    expect(stdout).toMatch(/BUDGET +USED +RENEWS/)
    expect(stdout).toMatch(/11\/month +0 +\d{4}-\d{2}-01 00:00:00/)
    const changed = await world.json('key', 'budget', keyId, '12/week')
    expect(changed).toMatchObject({ key_id: keyId, budget: '12/week', used: 0 })
    await world.json('key', 'budget', keyId, 'none')
    const removed = { key_id: keyId, budget: null, used: null, renews_at: null }
    expect(await world.json('key', 'list', 'budgets')).toMatchObject([removed])
  })
})

describe('darkroom ledger verify', () => {
  it('lists violations, with exit code 1', async () => {
    const { account_id } = await world.json<{ account_id: string }>(
      'account',
      'create',
      'short',
      '--credits',
      '9',
    )
    await world.pool.query('update balance set available = 8 where account_id = $1', [account_id])
    const { exitCode, stdout } = await world.run('ledger', 'verify', '--json')
    await world.pool.query('update balance set available = 9 where account_id = $1', [account_id])
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      violations: [
        { kind: 'available_differs', account_id },
        { kind: 'spent_differs', account_id },
      ],
    })
  })
})
