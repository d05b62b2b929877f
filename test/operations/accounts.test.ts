import { describe, expect, it } from 'vitest'
import { accountCreditsMax } from '../../src/domain/accounts/account.ts'
import { createModelTable } from '../../src/domain/models/modelTable.ts'
import {
  createAccount,
  listAccounts,
  setAccountModels,
  topUpAccount,
} from '../../src/operations/accounts.ts'
import { listAudit } from '../../src/operations/audit.ts'
import { verifyLedger } from '../../src/store/accounts/verifyLedger.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'

const database = useTestDatabase()

function deps() {
  return { pool: database.pool, actor: 'cli:test@host', models: createModelTable } as const
}

async function auditOf(target: string) {
  const listed = await listAudit(deps(), { target })
  const rows = listed.ok ? listed.value.data : []
  return rows.map(({ action, params, outcome }) => ({ action, params, outcome })).toReversed()
}

it('an account of an unknown model is refused, and the audit says so', async () => {
  const models = ['no-model']
  const refused = { failure: { code: 'invalid_value', param: 'models' } }
  expect(await createAccount(deps(), { name: 'odd', credits: 0, models })).toMatchObject(refused)
  expect(await setAccountModels(deps(), { name: 'odd', models })).toMatchObject(refused)
  expect(await auditOf('odd')).toEqual([
    { action: 'account.create', params: { credits: 0, models }, outcome: 'invalid_value' },
    { action: 'account.models', params: { models }, outcome: 'invalid_value' },
  ])
})

describe('a topup', () => {
  it('with an id moves its credits once, also in a race, and refuses other credits [topup-1]', async () => {
    await createAccount(deps(), { name: 'once', credits: 0 })
    const topup = { name: 'once', credits: 50, topupId: 'invoice-1' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => topUpAccount(deps(), topup)))
    for (const answer of answers) {
      const account: unknown = expect.objectContaining({ available: 50 })
      expect(answer).toEqual({ ok: true, value: { topup_id: 'invoice-1', credits: 50, account } })
    }
    expect(await topUpAccount(deps(), { ...topup, credits: 51 })).toMatchObject({
      failure: { code: 'idempotency_conflict', message: expect.stringContaining('moved 50') },
    })
    await createAccount(deps(), { name: 'other', credits: 0 })
    expect(await topUpAccount(deps(), { ...topup, name: 'other' })).toMatchObject({ ok: true })
    expect((await topUpAccount(deps(), topup)).ok).toBe(true)
  })

  it('is refused above the limit of the credits of an account, of which spent ones are a part', async () => {
    await createAccount(deps(), { name: 'full', credits: 0 })
    await database.pool.query(
      `update balance set deposited = $1 from account where name = 'full' and account.account_id = balance.account_id`,
      [accountCreditsMax - 10],
    )
    expect(await topUpAccount(deps(), { name: 'full', credits: 11 })).toMatchObject({
      failure: { code: 'credits_limit_exceeded' },
    })
    expect(await topUpAccount(deps(), { name: 'full', credits: 10 })).toMatchObject({ ok: true })
    // What the ledger has, for `verifyLedger` below.
    await database.pool.query('update balance set deposited = available where deposited = $1', [
      accountCreditsMax,
    ])
  })

  it('below 0 takes back what is available and no more [topup-2]', async () => {
    await createAccount(deps(), { name: 'back', credits: 100 })
    const account: unknown = expect.objectContaining({ available: 30, held: 0, spent: 0 })
    const back = { name: 'back', credits: -70, topupId: 'refund' }
    for (let time = 0; time < 2; time += 1) {
      const answer = await topUpAccount(deps(), back)
      expect(answer).toEqual({ ok: true, value: { topup_id: 'refund', credits: -70, account } })
    }
    expect(await topUpAccount(deps(), { name: 'back', credits: -31 })).toMatchObject({
      failure: { code: 'insufficient_credits', message: expect.stringContaining('has 30 credits') },
    })
    expect(await verifyLedger(database.pool)).toEqual([])
    expect(await auditOf('back')).toEqual([
      { action: 'account.create', params: { credits: 100 }, outcome: 'done' },
      ...[0, 1].map(() => {
        return {
          action: 'account.topup',
          params: { credits: -70, topup_id: 'refund' },
          outcome: 'done',
        }
      }),
      { action: 'account.topup', params: { credits: -31 }, outcome: 'insufficient_credits' },
    ])
  })
})

it('lists accounts, newest first, page by page', async () => {
  const ids: string[] = []
  for (const name of ['page-c', 'page-a', 'page-b']) {
    const created = await createAccount(deps(), { name, credits: 0 })
    ids.push(created.ok ? created.value.account_id : '')
  }
  const search = 'page-'
  const first = await listAccounts(deps(), { search, limit: 2 })
  const data = [{ name: 'page-b' }, { name: 'page-a' }]
  expect(first).toMatchObject({ value: { data, has_more: true } })
  const rest = await listAccounts(deps(), { search, limit: 2, after: ids[1] ?? '' })
  expect(rest).toMatchObject({ value: { data: [{ name: 'page-c' }], has_more: false } })
})
