import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../src/dev/stack/ports.ts'
import { createClient } from '../support/clients/client.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'

const script = fileURLToPath(new URL('../../src/dev/main.ts', import.meta.url))

const portNames = [
  'PORT',
  'INTERNAL_PORT',
  'WORKER_INTERNAL_PORT',
  'POSTGRES_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'SIMULATOR_PORT',
]
const anyPorts = Object.fromEntries(portNames.map((name) => [name, '0']))

function start(folder: string, environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [script], {
    cwd: folder,
    env: { ...anyPorts, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGTERM'))
  return child
}

/** The credentials of the upstreams in the environment of the child that runs this script. */
function credentialsOf(scriptName: string, parentPid: number | undefined): readonly string[] {
  const children = readFileSync(`/proc/${parentPid}/task/${parentPid}/children`, 'utf8').split(' ')
  const pid = children.find(
    (each) =>
      each !== '' && readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(`/src/${scriptName}`),
  )
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map((variable) => variable.split('=', 1)[0] ?? '')
  return names.filter((name) => name.endsWith('_API_KEY')).toSorted()
}

/** The namespace that Temporal's UI shows first. The UI gives it to its page at this address. */
async function firstNamespaceOf(printed: string): Promise<unknown> {
  const url = /Temporal UI: +(\S+)/.exec(printed)?.[1]
  const answer = await fetch(`${url}/api/v1/settings`)
  const settings: unknown = await answer.json()
  return Object(settings).DefaultNamespace
}

/** The files and folders in `folder`, itself included, on which other users of the machine have a right. */
function readableByOthers(folder: string): readonly string[] {
  const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return ['.', ...inside].filter((name) => {
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && !found.isSymbolicLink() && (found.mode & 0o077) !== 0
  })
}

it.each([
  ['is broken', { channels: [] }, 'channels: '],
  [
    'names a credential that is not set',
    {
      channels: [
        { name: 'b', family: 'B', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'NO_SUCH_KEY' },
      ],
    },
    'NO_SUCH_KEY',
  ],
])("starts nothing when the operator's file %s", async (_what, file, named) => {
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

it('does not remove the runtime file of the stack that uses its port', async () => {
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

it(
  'makes an image as soon as the API is ready, keeps its data from other users, and stops on SIGTERM',
  async () => {
    const dataDir = join(tempFolder(), 'data')
    // An existing folder that every user of the machine may read, with the usual umask.
    mkdirSync(dataDir, { mode: 0o755 })
    const port = await freePort()
    const child = spawn(process.execPath, [script], {
      env: {
        ...process.env,
        ...anyPorts,
        PORT: String(port),
        DATA_DIR: dataDir,
        TEMPORAL_NAMESPACE: 'images',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    const exited = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = `http://127.0.0.1:${port}`
    await until(
      'a ready API',
      async () => {
        if (child.exitCode !== null) throw new Error(printed)
        const answer = await fetch(`${url}/readyz`).catch(() => undefined)
        return answer?.status === 200 ? true : undefined
      },
      stackStartMsMax,
    )
    const client = createClient(url, readFileSync(join(dataDir, 'demo-key'), 'utf8').trim())
    const answer = await generate(client, { prompt: 'The first of all images [sim:delay ms=10]' })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    await until('the address of the UI', () => /Temporal UI: +\S+\n/.test(printed) || undefined)
    expect(await firstNamespaceOf(printed)).toBe('images')
    expect(readableByOthers(dataDir)).toEqual([])
    expect(credentialsOf('api.ts', child.pid)).toEqual([])
    expect(credentialsOf('worker.ts', child.pid)).toEqual(['FAMILYA_API_KEY', 'FAMILYB_API_KEY'])
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
  stackStartMsMax,
)
