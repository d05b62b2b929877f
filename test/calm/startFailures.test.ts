import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { freePort } from '../support/ports.ts'
import { calmService } from '../support/service/calmService.ts'
import { upstreamCredentials } from '../support/service/simulatorFile.ts'
import { startDarkroomProcess } from '../support/service/testService.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'
import type { Finished } from '../support/useFinished.ts'

const service = await calmService()

async function startWith(
  name: 'api' | 'worker' | 'admin',
  changed: Readonly<Record<string, string>>,
  finished: Finished,
): Promise<void> {
  const free = { PORT: '0', INTERNAL_PORT: '0', WORKER_INTERNAL_PORT: '0', ADMIN_PORT: '0' }
  const ADMIN_KEYS = 'me:secret-of-an-operator'
  const given = { ...service.environment, ...upstreamCredentials, ADMIN_KEYS }
  const environment = { ...given, ...free, ...changed }
  await (await startDarkroomProcess(name, tempFolder(finished), environment)).stop()
}

// At once, because processes that start and stop wait most of the time.
describe.concurrent('a process', () => {
  it('that cannot start names the database variable when PostgreSQL is unreachable', async ({
    onTestFinished,
  }) => {
    const away = { DATABASE_URL: `postgres://darkroom@127.0.0.1:${await freePort()}/darkroom` }
    await expect(startWith('worker', away, onTestFinished)).rejects.toThrow(
      /^PostgreSQL at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be reached: connect ECONNREFUSED/m,
    )
  })

  it.for([
    ['that takes no folder', '/proc/darkroom', 'no answer in 10000 ms'],
    ['below a file', '/dev/null/darkroom', 'ENOTDIR'],
  ] as const)(
    'refuses a blob store %s with the name of its variable and the exit code of a wrong setting',
    async ([_what, folder, why], { onTestFinished }) => {
      const wrong = { BLOB_STORE: `file://${folder}` }
      await expect(startWith('worker', wrong, onTestFinished)).rejects.toThrow(
        new RegExp(`its start \\(2\\)[^]*^BLOB_STORE cannot be used: ${why}`, 'm'),
      )
    },
  )

  it.for([
    ['api', 'INTERNAL_PORT'],
    ['admin', 'ADMIN_PORT'],
  ] as const)(
    'that cannot start names its port that is in use: %s %s',
    async ([name, variable], { onTestFinished }) => {
      const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1')
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      const port = String(Object(server.address()).port)
      await expect(startWith(name, { [variable]: port }, onTestFinished)).rejects.toThrow(
        new RegExp(`HOST \\S+, ${variable} ${port}: listen EADDRINUSE`),
      )
    },
  )

  it('that runs as in production says that it is not ready while it still serves, ends with 0, and leaves no temporary file', async ({
    onTestFinished,
  }) => {
    const TMPDIR = tempFolder(onTestFinished)
    const INTERNAL_PORT = String(await freePort())
    const { PORT: _port, ...environment } = service.environment
    const own = { ...environment, TMPDIR, INTERNAL_PORT }
    const folder = tempFolder(onTestFinished)
    const api = await startDarkroomProcess('api', folder, own, { alone: true })
    onTestFinished(() => api.stop(0))
    const client = createClient(api.url, (await service.account()).secret)
    api.signal('SIGTERM')
    await until('not ready', async () => {
      const { status } = await fetch(`http://127.0.0.1:${INTERNAL_PORT}/readyz`)
      return status === 503 ? true : undefined
    })
    expect((await fetch(`${api.url}/readyz`)).status).toBe(503)
    expect((await client.submit(generateBody())).status).toBe(202)
    expect(await api.ended).toBe(0)
    expect(readdirSync(TMPDIR)).toEqual([])
  })
})
