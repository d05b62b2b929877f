import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/ports.ts'
import { calmService } from '../support/service/calmService.ts'
import { upstreamCredentials } from '../support/service/simulatorFile.ts'
import { startDarkroomProcess } from '../support/service/testService.ts'
import { tempFolder } from '../support/tempFolder.ts'

const service = await calmService()

const ports = {
  api: ['PORT', 'INTERNAL_PORT'],
  worker: ['WORKER_INTERNAL_PORT'],
  admin: ['ADMIN_PORT'],
} as const
type Name = keyof typeof ports

async function startWith(name: Name, changed: Readonly<Record<string, string>>): Promise<void> {
  const free = { PORT: '0', INTERNAL_PORT: '0', WORKER_INTERNAL_PORT: '0', ADMIN_PORT: '0' }
  const ADMIN_KEYS = 'me:secret-of-an-operator'
  const environment = {
    ...service.environment,
    ...upstreamCredentials,
    ADMIN_KEYS,
    ...free,
    ...changed,
  }
  await (await startDarkroomProcess(name, tempFolder(), environment)).stop()
}

describe.each<Name>(['api', 'worker', 'admin'])('a process that cannot start: %s', (name) => {
  it('names the database variable when PostgreSQL is unreachable', async () => {
    const away = { DATABASE_URL: `postgres://darkroom@127.0.0.1:${await freePort()}/darkroom` }
    await expect(startWith(name, away)).rejects.toThrow(
      /^PostgreSQL at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be reached: connect ECONNREFUSED/m,
    )
  })

  it.each(ports[name])('names %s when the port is in use', async (variable) => {
    const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const port = String(Object(server.address()).port)
    await expect(startWith(name, { [variable]: port })).rejects.toThrow(
      new RegExp(`HOST \\S+, ${variable} ${port}: listen EADDRINUSE`),
    )
  })
})
