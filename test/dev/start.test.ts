import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { tempFolder } from '../support/tempFolder.ts'

const script = fileURLToPath(new URL('../../src/dev.ts', import.meta.url))

it.each([
  ['is broken', { channels: [] }, 'channels: '],
  [
    'wants a credential that is not set',
    {
      channels: [
        { name: 'b', family: 'B', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'NO_SUCH_KEY' },
      ],
    },
    'NO_SUCH_KEY',
  ],
])("starts nothing on an operator's file that %s", async (_what, file, named) => {
  const folder = tempFolder()
  const path = join(folder, 'config.json')
  writeFileSync(path, JSON.stringify(file))
  const ports = ['PORT', 'INTERNAL_PORT', 'WORKER_INTERNAL_PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT']
  const child = spawn(process.execPath, [script], {
    cwd: folder,
    env: {
      ...Object.fromEntries(ports.map((name) => [name, '0'])),
      TEMPORAL_UI_PORT: '0',
      DARKROOM_CONFIG: path,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGTERM'))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = await once(child, 'exit')
  expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(named) })
  expect(readdirSync(folder)).toEqual(['config.json'])
})
