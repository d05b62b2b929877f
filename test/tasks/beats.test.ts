import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import { createBeatStore } from '../../src/store/attempts/beats.ts'
import { createBeats } from '../../src/tasks/beats.ts'
import { openLossyWay } from '../support/database/lossyWay.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { until } from '../support/timing.ts'

const everyMs = 10
afterEach(() => vi.restoreAllMocks())

function beating() {
  const sent: string[] = []
  const errors: unknown[] = []
  let fails = false
  const beats = createBeats({
    store: {
      beat: async () => {
        if (fails) throw new Error('PostgreSQL is away')
        sent.push('beat')
      },
      leave: async () => void sent.push('leave'),
      close: async () => void sent.push('close'),
    },
    onError: (error) => void errors.push(error),
    everyMs,
  })
  onTestFinished(beats.stop)
  const fail = (value: boolean) => {
    fails = value
  }
  return { beats, sent, errors, fail }
}

it('a process goes on after a beat that failed, and begins no call eight seconds after its last beat', async () => {
  const { beats, sent, errors, fail } = beating()
  await beats.start()
  fail(true)
  await until('an error', () => (errors.length > 1 ? true : undefined))
  expect(beats.mayCall()).toBe(true)
  // The monotonic clock stands still while the machine is suspended. The wall clock does not.
  const real = Date.now()
  vi.spyOn(Date, 'now').mockImplementation(() => real + 8_500)
  expect(beats.mayCall()).toBe(false)
  vi.restoreAllMocks()
  fail(false)
  const count = sent.length
  await until('the next beat', () => (sent.length > count ? true : undefined))
})

it('a process beats again long before its calls may count as lost, when the network is back', async () => {
  const { pool, databaseUrl, drop } = await createTestDatabase()
  onTestFinished(drop)
  const way = await openLossyWay(databaseUrl)
  const store = createBeatStore({ processId: 'own', sessionUrl: way.url, pool })
  const beats = createBeats({ store, onError: () => {} })
  await beats.start()
  onTestFinished(beats.stop)
  way.lose(true)
  // The slowest case: the process has just begun to connect when the way is open again.
  await until('a lost connection', () => (way.lostConnections() > 0 ? true : undefined))
  way.lose(false)
  const backAtMs = performance.now()
  const lastBeat = async () => {
    const { rows } = await pool.query<{ at: string }>(
      'select seen_at::text as at from worker_process',
    )
    return rows[0]?.at
  }
  const before = await lastBeat()
  await until('the next beat', async () => ((await lastBeat()) === before ? undefined : true))
  expect(performance.now() - backAtMs).toBeLessThan(silentMs / 2)
}, 30_000)
