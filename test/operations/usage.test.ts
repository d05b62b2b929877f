import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { OperatorUsageGroup } from '../../src/domain/accounts/usageQuery.ts'
import { operatorUsageGroups } from '../../src/domain/accounts/usageQuery.ts'
import type { UsageInput, UsageJson } from '../../src/operations/countUsage.ts'
import { countUsage, usageCsv } from '../../src/operations/countUsage.ts'
import { insertEndedTasks } from '../support/database/insertEndedTasks.ts'
import { createTestCaller } from '../support/database/testAccept.ts'
import { useTestDatabase } from '../support/database/testDatabase.ts'
import { createSeeded } from '../support/seeded.ts'

const database = useTestDatabase()
const year = { startTime: '2026-01-01T00:00:00Z', endTime: '2027-01-01T00:00:00Z' }

async function usage(input: Partial<UsageInput>): Promise<UsageJson> {
  const result = await countUsage(database, { ...year, groupBy: [], ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.failure))
  return result.value
}

type Ended = Readonly<Record<OperatorUsageGroup, string | undefined>> & { readonly credits: number }

/** Inserts random ended tasks of three accounts, and returns what they are. */
async function insertRandom(): Promise<readonly Ended[]> {
  const { pool } = database
  const random = createSeeded(11)
  const owners = await Promise.all([1, 2, 3].map(() => createTestCaller(pool, 1_000_000)))
  const ended: Ended[] = []
  for (let n = 0; n < 120; n += 1) {
    const { accountId, name } = random.pick(owners)
    const status = random.chance(0.7) ? 'succeeded' : 'failed'
    const key = `key_${name.slice(-4)}_${random.between(1, 2)}`
    const model = random.pick(['familyb-image-2-vip', 'familya-3-pro-image'] as const)
    const channel = random.pick(['b-main', 'b-second', status === 'failed' ? null : 'a-main'])
    const credits = random.pick([0, 7, 134])
    const at = `2026-03-0${random.between(1, 3)}T${random.pick(['00:00:00', '23:59:59.999999'])}Z`
    const count = random.between(1, 3)
    await insertEndedTasks(pool, {
      accountId,
      keyId: key,
      model,
      channel,
      status,
      credits,
      at,
      count,
    })
    const task = { account: name, key, model, channel: channel ?? undefined, outcome: status }
    const spent = status === 'succeeded' ? credits : 0
    for (let m = 0; m < count; m += 1) ended.push({ ...task, day: at.slice(0, 10), credits: spent })
  }
  return ended
}

/** Adds up tasks by groups, without a database. */
function expected(ended: readonly Ended[], groupBy: readonly OperatorUsageGroup[]) {
  const byGroup = Map.groupBy(ended, (task) =>
    JSON.stringify(groupBy.map((group) => task[group] ?? null)),
  )
  return [...byGroup].map(([group, tasks]) => {
    const succeeded = tasks.filter(({ outcome }) => outcome === 'succeeded').length
    const credits = tasks.reduce((sum, task) => sum + task.credits, 0)
    return [group, succeeded, tasks.length - succeeded, credits]
  })
}

function counted({ data }: UsageJson, groupBy: readonly OperatorUsageGroup[]) {
  return data.map((row) => {
    const group = groupBy.map((each) => row[each === 'key' ? 'key_id' : each] ?? null)
    return [JSON.stringify(group), row.tasks.succeeded, row.tasks.failed, row.credits]
  })
}

const pairs = operatorUsageGroups.flatMap((one) => [
  [one],
  ...operatorUsageGroups.filter((other) => other !== one).map((other) => [one, other]),
])

describe('usage of all accounts', () => {
  it('equals a count by hand for every one and two groups, also after a purge [usage-3]', async () => {
    const ended = await insertRandom()
    const sorted = (rows: readonly (readonly unknown[])[]) => rows.map(String).toSorted()
    for (const groupBy of pairs) {
      if (groupBy[0] === 'day') await database.pool.query('delete from task')
      const found = await usage({ groupBy })
      expect([groupBy, sorted(counted(found, groupBy))]).toEqual([
        groupBy,
        sorted(expected(ended, groupBy)),
      ])
      expect(found).toMatchObject({ difference: 0, time_zone: 'UTC' })
      expect(
        [found.total].map(({ tasks, credits }) => ['[]', tasks.succeeded, tasks.failed, credits]),
      ).toEqual(expected(ended, []))
    }
    const [{ account = '' } = {}] = ended
    const groupBy = ['channel', 'outcome'] as const
    const own = ended.filter((task) => task.account === account)
    expect(sorted(counted(await usage({ account, groupBy }), groupBy))).toEqual(
      sorted(expected(own, groupBy)),
    )
  })

  it('shows what the balances say otherwise, of the account or of all', async () => {
    const { accountId, name } = await createTestCaller(database.pool, 10)
    const { name: other } = await createTestCaller(database.pool, 10)
    await database.pool.query('update balance set available = 7 where account_id = $1', [accountId])
    const differences = [{ account: name }, { account: other }, {}].map(
      async (input) => (await usage(input)).difference,
    )
    expect(await Promise.all(differences)).toEqual([-3, 0, -3])
    await database.pool.query('update balance set available = 10 where account_id = $1', [
      accountId,
    ])
  })

  it('is refused for three groups, for one group twice, and for an unknown account', async () => {
    const refusals = [
      { groupBy: ['day', 'key', 'model'] },
      { groupBy: ['day', 'day'] },
      { groupBy: [], account: `x' or '1'='1` },
    ] as const
    const answers = await Promise.all(refusals.map((input) => countUsage(database, input)))
    const param = { ok: false, failure: { kind: 'refused', param: 'group_by' } }
    expect(answers).toMatchObject([param, param, { ok: false, failure: { kind: 'not_found' } }])
  })

  it('is CSV with the total, in which a spreadsheet finds no formula', async () => {
    const { accountId, name } = await createTestCaller(database.pool, 100)
    const hostile = `=HYPERLINK("x"),${randomBytes(2).toString('hex')}`
    await database.pool.query('update account set name = $2 where name = $1', [name, hostile])
    await insertEndedTasks(database.pool, { accountId, count: 2, credits: 5, at: '2026-05-01Z' })
    const groupBy = ['account', 'day'] as const
    const csv = usageCsv(await usage({ account: hostile, groupBy }), groupBy)
    expect(csv.split('\r\n')).toEqual([
      'account,day,succeeded,failed,credits',
      `"'${hostile.replaceAll('"', '""')}",2026-05-01,2,0,10`,
      'total,,2,0,10',
      '',
    ])
    expect(usageCsv(await usage({ account: hostile }), [])).toBe(
      'succeeded,failed,credits\r\n2,0,10\r\n',
    )
  })
})
