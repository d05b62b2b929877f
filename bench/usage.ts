/**
 * The usage of a month takes less than 100 ms at the median when the ledger has 1,000,000 entries: half of them
 * holds, all of one account within half a year. Prints what the whole half year takes as well.
 */
import { describeMs, percentile, runBench } from './support/runBench.ts'
import { usageGroups } from '../src/domain/accounts/usage.ts'
import { readUsage } from '../src/store/accounts/readUsage.ts'
import { createTestCaller } from '../test/support/database/testAccept.ts'
import { createTestDatabase } from '../test/support/database/testDatabase.ts'
import { insertEndedTasks } from '../test/support/database/insertEndedTasks.ts'
import { timed } from '../test/support/timing.ts'

const tasks = 500_000
const keys = 4
const chunk = 12_500
const runs = 20
const msMax = 100

await runBench(async ({ check }) => {
  const { pool, drop } = await createTestDatabase()
  const { accountId } = await createTestCaller(pool, tasks)
  const models = ['familya-3-pro-image', 'familyb-image-2-vip'] as const
  for (let n = 0; n < tasks / chunk; n += 1) {
    const model = models[n % 2] ?? models[0]
    const at = `2026-01-01T00:00:00Z`
    await insertEndedTasks(pool, {
      accountId,
      model,
      keyId: `key_000000000000000${n % keys}`,
      count: chunk,
      at,
      every: '20 minutes 0.7 seconds',
      ...(n % 10 === 9 ? { status: 'failed' as const } : {}),
    })
    await pool.query('delete from task')
  }
  await pool.query('vacuum analyze ledger')
  const { rows } = await pool.query<{ entries: number }>('select count(*) as entries from ledger')
  process.stdout.write(`${rows[0]?.entries} ledger entries\n`)
  const periods = { 'a month': '2026-03-01T00:00:00Z', 'half a year': '2026-08-01T00:00:00Z' }
  for (const [name, endTime] of Object.entries(periods)) {
    const startTime = name === 'a month' ? '2026-02-01T00:00:00Z' : '2026-01-01T00:00:00Z'
    for (const groupBy of [[], usageGroups]) {
      const sample: number[] = []
      for (let run = 0; run < runs; run += 1) {
        const query = { startTime, endTime, groupBy }
        sample.push(await timed(() => readUsage(pool, accountId, query)))
      }
      const what = `${name}${groupBy.length > 0 ? ` by ${groupBy.join(', ')}` : ''}`
      process.stdout.write(`${describeMs(what, sample)}\n`)
      if (name === 'a month') {
        const p50 = percentile(sample, 0.5)
        check(`${what}: p50 ${p50.toFixed(1)} ms, at most ${msMax}`, p50 <= msMax)
      }
    }
  }
  await drop()
})
