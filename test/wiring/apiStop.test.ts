import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/ports.ts'
import { startDarkroomProcess } from '../support/service/darkroomProcess.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService({ apis: 0, workers: 0 })
  return () => service.stop()
}, stackStartMsMax)

async function startLoneApi(environment: Readonly<Record<string, string>> = {}) {
  const [port, internal] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const api = await startDarkroomProcess({
    name: 'api',
    environment: {
      ...service.environment,
      ...environment,
      PORT: `${port}`,
      INTERNAL_PORT: `${internal}`,
    },
    url,
    readyUrl: `${url}/readyz`,
    alone: true,
  })
  service.apis.push(api)
  return { api, internalUrl: `http://127.0.0.1:${internal}` }
}

describe('an API that stops', () => {
  it('reports that it is not ready while it still serves, so that load balancers stop sending requests', async () => {
    const { api, internalUrl } = await startLoneApi()
    const { secret } = await service.account()
    api.signal('SIGTERM')
    await until('not ready', async () => {
      const { status } = await fetch(`${internalUrl}/readyz`)
      return status === 503 ? true : undefined
    })
    expect((await fetch(`${api.url}/readyz`)).status).toBe(503)
    const submitted = await fetch(`${api.url}/v1/images/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'familyb-image-2-vip',
        action: 'generate',
        prompt: 'A lighthouse',
        size: '1024x1024',
      }),
    })
    expect(submitted.status).toBe(202)
    expect(await api.ended).toBe(0)
  })
  it('deletes its temporary folder, which only its user could enter', async () => {
    const parent = tempFolder()
    const { api } = await startLoneApi({ TMPDIR: parent })
    const modes = readdirSync(parent).map((name) => statSync(join(parent, name)).mode & 0o777)
    expect(modes).toEqual([0o700])
    api.signal('SIGTERM')
    expect(await api.ended).toBe(0)
    expect(readdirSync(parent)).toEqual([])
  })
})
