import { chmodSync, chownSync, lchownSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildGoTools } from '../../../src/dev/stack/goTools.ts'
import { makePrivateFolder } from '../../../src/dev/stack/privateFolder.ts'
import { startStack } from '../../../src/dev/stack/stack.ts'
import { StartError } from '../../../src/dev/stack/startError.ts'
import { temporalTools } from '../../../src/dev/stack/temporal/findTemporal.ts'
import { tempFolder } from '../../support/tempFolder.ts'

const nobody = 65_534

function modeOf(path: string): number {
  return statSync(path).mode & 0o7777
}

describe('a private folder', () => {
  it('is made for this user only', async () => {
    const path = join(tempFolder(), 'a/b')
    await makePrivateFolder(path, 'DATA_DIR')
    expect(modeOf(path)).toBe(0o700)
  })

  it.each([0o777, 0o755, 0o710, 0o700])(
    'is closed to other users when its mode is %o',
    async (mode) => {
      const path = tempFolder()
      chmodSync(path, mode)
      await makePrivateFolder(path, 'DATA_DIR')
      expect(modeOf(path)).toBe(0o700)
    },
  )
})

// Only root can give a folder to another user.
describe.runIf(process.getuid?.() === 0)('when this process runs as root', () => {
  it("still lets the group of PostgreSQL's own user pass", async () => {
    const path = tempFolder()
    chownSync(path, 0, nobody)
    chmodSync(path, 0o750)
    await makePrivateFolder(path, 'DATA_DIR')
    expect(modeOf(path)).toBe(0o710)
  })

  it.each([
    [
      'a folder of another user',
      (path: string) => (mkdirSync(path), chownSync(path, nobody, nobody)),
    ],
    [
      "another user's link to a folder of this user",
      (path: string) => (symlinkSync(tempFolder(), path), lchownSync(path, nobody, nobody)),
    ],
  ])('the stack refuses %s as DATA_DIR', async (_what, plant) => {
    const dataDir = join(tempFolder(), 'data')
    plant(dataDir)
    const start = startStack({
      dataDir,
      ports: { postgres: 0, temporal: 0, temporalUi: 0 },
      temporalNamespace: 'default',
      temporalAddress: 'none:1',
      databaseUrl: 'postgres://127.0.0.1:1/none',
      env: {},
      say: () => undefined,
      withUi: false,
      durable: true,
    })
    await expect(start).rejects.toThrow(StartError)
    await expect(start).rejects.toThrow(`${dataDir} belongs to the user with the number ${nobody}`)
  })

  it('runs no program from a cache of another user', async () => {
    const cache = tempFolder()
    mkdirSync(join(cache, 'darkroom'))
    chownSync(join(cache, 'darkroom'), nobody, nobody)
    const env = { ...process.env, XDG_CACHE_HOME: cache }
    const build = buildGoTools(temporalTools, { env, say: () => undefined })
    await expect(build).rejects.toThrow('XDG_CACHE_HOME')
  })
})
