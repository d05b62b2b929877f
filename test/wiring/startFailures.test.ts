import { once } from 'node:events'
import { createServer } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/ports.ts'
import { startDarkroomProcess } from '../support/service/darkroomProcess.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService({ apis: 0, workers: 0 })
  return () => service.stop()
}, stackStartMsMax)

type Name = 'api' | 'worker'

async function startWith(name: Name, environment: Readonly<Record<string, string>>) {
  const url = `http://127.0.0.1:${await freePort()}`
  const started = await startDarkroomProcess({
    name,
    environment: { ...service.environment, PORT: '0', INTERNAL_PORT: '0', ...environment },
    url,
    readyUrl: `${url}/readyz`,
  })
  await started.stop()
}

describe.each<Name>(['api', 'worker'])('a process that cannot start: %s', (name) => {
  it('names the database variable when PostgreSQL is unreachable', async () => {
    const away = { DATABASE_URL: `postgres://darkroom@127.0.0.1:${await freePort()}/darkroom` }
    await expect(startWith(name, away)).rejects.toThrow(
      /^PostgreSQL at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be reached: connect ECONNREFUSED/m,
    )
  })

  it.each(name === 'api' ? ['PORT', 'INTERNAL_PORT'] : ['WORKER_INTERNAL_PORT'])(
    'names %s when the port is in use',
    async (variable) => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const port = String(Object(server.address()).port)
      await expect(startWith(name, { [variable]: port })).rejects.toThrow(
        new RegExp(`HOST \\S+, ${variable} ${port}: listen EADDRINUSE`),
      )
    },
  )
})
