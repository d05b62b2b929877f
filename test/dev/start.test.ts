import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { tempFolder } from '../support/tempFolder.ts'

const script = fileURLToPath(new URL('../../src/dev.ts', import.meta.url))

const portNames = [
  'PORT',
  'INTERNAL_PORT',
  'WORKER_INTERNAL_PORT',
  'POSTGRES_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'SIMULATOR_PORT',
]

function start(folder: string, environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [script], {
    cwd: folder,
    env: { ...Object.fromEntries(portNames.map((name) => [name, '0'])), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGTERM'))
  return child
}

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
  const child = start(folder, { DARKROOM_CONFIG: path })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = await once(child, 'exit')
  expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(named) })
  expect(readdirSync(folder)).toEqual(['config.json'])
})

it('leaves the CLI its way to the stack whose port it wants', async () => {
  const [folder, dataDir] = [tempFolder(), tempFolder()]
  const runtimeFile = join(dataDir, 'runtime.json')
  writeFileSync(runtimeFile, '{}')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const port = String(Object(server.address()).port)
  const [code] = await once(start(folder, { DATA_DIR: dataDir, PORT: port }), 'exit')
  expect(code).toBe(1)
  expect(readFileSync(runtimeFile, 'utf8')).toBe('{}')
})
