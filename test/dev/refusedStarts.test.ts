import { once } from 'node:events'
import {
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { makePrivateFolder } from '../../src/dev/dataDir.ts'
import { buildGoTools } from '../../src/dev/goTools.ts'
import { temporalTools } from '../../src/dev/temporalPrograms.ts'
import { freePort } from '../support/ports.ts'
import { spawnStart } from '../support/stack/spawnStart.ts'

const nobody = 65_534
// The tests of this file run at once, so what they open is closed after all of them.
const root = mkdtempSync(join(tmpdir(), 'darkroom-refused-'))
const servers: Server[] = []

afterAll(() => {
  for (const server of servers) server.close()
  rmSync(root, { recursive: true, force: true })
})

function tempFolder(): string {
  return mkdtempSync(join(root, 'test-'))
}

/** The exit code of a start, and what it printed. */
async function refusal(dataDir: string, environment: Readonly<Record<string, string>>) {
  const start = await spawnStart(dataDir, join(tempFolder(), 'log'), environment)
  return { code: await start.ended, said: start.output() }
}

describe('npm start with a wrong configuration exits with 2 and touches nothing', () => {
  it.concurrent("when the operator's file is broken", async () => {
    const folder = tempFolder()
    const path = join(folder, 'config.json')
    writeFileSync(path, JSON.stringify({ channels: [] }))
    const { code, said } = await refusal(join(folder, 'data'), { DARKROOM_CONFIG: path })
    expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining('channels: ') })
    expect(readdirSync(folder)).toEqual(['config.json'])
  })

  it.concurrent('when HOST is not a loopback address and no upstream is named', async () => {
    const folder = tempFolder()
    const { code, said } = await refusal(join(folder, 'data'), { HOST: '0.0.0.0' })
    expect({ code, said }).toEqual({
      code: 2,
      said: expect.stringContaining('DARKROOM_CONFIG is not set'),
    })
    expect(readdirSync(folder)).toEqual([])
  })
})

it.concurrent('npm start ends when DATA_DIR takes no folder, and names it', async () => {
  const { code, said } = await refusal('/proc/darkroom', {})
  const why = '/proc/darkroom cannot be made (DATA_DIR): no answer in 10000 ms'
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(why) })
})

it.concurrent('npm start leaves the runtime file of the service that uses its port', async () => {
  const dataDir = tempFolder()
  const runtimeFile = join(dataDir, 'runtime.json')
  writeFileSync(runtimeFile, '{}')
  const port = await freePort()
  const server = createServer().listen(port, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  const { code, said } = await refusal(dataDir, { PORT: String(port) })
  expect({ code, said }).toEqual({
    code: 1,
    said: expect.stringContaining(`PORT ${port} is in use by another program`),
  })
  expect(readFileSync(runtimeFile, 'utf8')).toBe('{}')
})

// Only root can give a folder to another user.
describe.runIf(process.getuid?.() === 0)('npm start as root uses no folder of another user', () => {
  it.each([
    ['a folder', (path: string) => (mkdirSync(path), chownSync(path, nobody, nobody))],
    [
      'a link to a folder of root',
      (path: string) => (symlinkSync(tempFolder(), path), lchownSync(path, nobody, nobody)),
    ],
  ])('as DATA_DIR: %s', async (_what, plant) => {
    const path = join(tempFolder(), 'data')
    plant(path)
    const said = `${path} belongs to the user with the number ${nobody}`
    await expect(makePrivateFolder(path, 'DATA_DIR')).rejects.toThrow(said)
  })

  it('as cache of programs', async () => {
    const cache = tempFolder()
    mkdirSync(join(cache, 'darkroom'))
    chownSync(join(cache, 'darkroom'), nobody, nobody)
    vi.stubEnv('XDG_CACHE_HOME', cache)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(buildGoTools(temporalTools, () => {})).rejects.toThrow('XDG_CACHE_HOME')
  })
})
