import { expect, it, onTestFinished, vi } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import { createBeatStore } from '../../src/store/attempts/beatStore.ts'
import { createBeats } from '../../src/tasks/produce/beats.ts'
import { openLossyWay } from '../support/database/lossyWay.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { quiet } from '../support/quiet.ts'
import { until } from '../support/timing.ts'

it('a process begins no call eight seconds after its last beat, and beats again long before its calls may count as lost, when the network is back', async () => {
  const { pool, databaseUrl, close } = await createTestDatabase()
  onTestFinished(close)
  const way = await openLossyWay(databaseUrl)
  const store = createBeatStore({ processId: 'own', sessionUrl: way.url })
  const beats = createBeats(store, quiet.log)
  await beats.start()
  onTestFinished(beats.stop)
  expect(beats.mayCall()).toBe(true)
  way.lose(true)
  // The slowest case: the process has just begun to connect when the way is open again.
  await until('a lost connection', () => (way.lostConnections() > 0 ? true : undefined))
  // The monotonic clock stands still while the machine is suspended. The wall clock does not.
  const real = Date.now()
  const suspended = vi.spyOn(Date, 'now').mockImplementation(() => real + 8_500)
  expect(beats.mayCall()).toBe(false)
  suspended.mockRestore()
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

it('a process starts although PostgreSQL does not take its first beat at once', async () => {
  let beaten = 0
  const beat = async () => {
    beaten += 1
    if (beaten === 1) throw new Error('Connection terminated due to connection timeout')
  }
  const beats = createBeats({ beat, leave: async () => {}, close: async () => {} }, quiet.log)
  await beats.start()
  onTestFinished(beats.stop)
  expect(beats.mayCall()).toBe(true)
})
