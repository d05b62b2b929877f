import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { silentMs } from '../../src/domain/limits.ts'
import { createBeatStore } from '../../src/store/attempts/beats.ts'
import { createBeats } from '../../src/tasks/beats.ts'
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

it('a process beats until it stops, and then says that it makes no more calls', async () => {
  const { beats, sent } = beating()
  expect(beats.mayCall()).toBe(false)
  await beats.start()
  expect(beats.mayCall()).toBe(true)
  await until('more beats', () => (sent.length > 3 ? true : undefined))
  await beats.stop()
  expect(sent.slice(-3)).toEqual(['beat', 'leave', 'close'])
  const count = sent.length
  await sleep(5 * everyMs)
  expect(sent).toHaveLength(count)
})

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

/** A way to PostgreSQL that can lose all bytes, also those of new connections, as a network does. */
async function lossyWay(databaseUrl: string) {
  const sockets: Socket[] = []
  let losing = false
  let lostConnections = 0
  const server = createServer((client) => {
    if (losing) lostConnections += 1
    const upstream = connect(Number(new URL(databaseUrl).port), '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.push(from)
      from.on('error', () => {}).on('data', (bytes) => void (losing || to.write(bytes)))
    }
    client.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${Object(server.address()).port}`
  const lose = (value: boolean) => void (losing = value)
  return { url: url.href, lose, lostConnections: () => lostConnections }
}

it('a process beats again long before its calls may count as lost, when the network is back', async () => {
  const { pool, databaseUrl, drop } = await createTestDatabase()
  onTestFinished(drop)
  const way = await lossyWay(databaseUrl)
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
