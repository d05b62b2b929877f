import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../src/dev/stack/freePort.ts'
import { createClient } from '../support/clients/client.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'

const script = fileURLToPath(new URL('../../src/dev.ts', import.meta.url))
const anyPort = [
  'INTERNAL_PORT',
  'WORKER_INTERNAL_PORT',
  'SIMULATOR_PORT',
  'POSTGRES_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
]

it(
  'makes an image for whoever comes the moment its API says it is ready, and stops when told',
  async () => {
    const dataDir = tempFolder()
    const port = await freePort()
    const child = spawn(process.execPath, [script], {
      env: {
        ...process.env,
        ...Object.fromEntries(anyPort.map((name) => [name, '0'])),
        PORT: String(port),
        DATA_DIR: dataDir,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const exited = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = `http://127.0.0.1:${port}`
    await until(
      'a ready API',
      async () => {
        const answer = await fetch(`${url}/readyz`).catch(() => undefined)
        return answer?.status === 200 ? true : undefined
      },
      stackStartMsMax,
    )
    const client = createClient(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
    const answer = await generate(client, { prompt: 'The first of all images [sim:delay ms=10]' })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
  stackStartMsMax,
)
