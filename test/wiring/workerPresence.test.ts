import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { beatEveryMs, beatTimeoutMs, doubtMs } from '../../src/domain/limits.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createWorkerPresence } from '../../src/wiring/workerPresence.ts'
import { createTestDatabase } from '../support/database/testDatabase.ts'
import { until } from '../support/timing.ts'

const reserveMs = 1_000

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

it('beats again before other processes may count it as lost, when PostgreSQL is back', async () => {
  expect(doubtMs).toBeGreaterThanOrEqual(2 * beatTimeoutMs + beatEveryMs + reserveMs)
  const { pool, databaseUrl, drop } = await createTestDatabase()
  onTestFinished(drop)
  const way = await lossyWay(databaseUrl)
  const presence = createWorkerPresence({
    processId: 'own',
    databaseUrl: way.url,
    pool,
    log: createLogger({ level: 'error', process: 'worker', pretty: false }),
    onOffer: () => {},
  })
  await presence.start()
  onTestFinished(() => presence.stop())
  way.lose(true)
  // The slowest case: the process has just begun to connect when the way is open again.
  await until('a lost connection', () => (way.lostConnections() > 0 ? true : undefined))
  way.lose(false)
  const backAtMs = performance.now()
  const { rows } = await pool.query<{ at: string }>(
    `select seen_at::text as at from worker_process where process_id = 'own'`,
  )
  await until('the next beat', async () => {
    const { rowCount } = await pool.query(
      `select from worker_process where process_id = 'own' and seen_at > $1::timestamptz`,
      [rows[0]?.at],
    )
    return rowCount === 1 ? true : undefined
  })
  expect(performance.now() - backAtMs).toBeLessThan(doubtMs)
}, 30_000)
