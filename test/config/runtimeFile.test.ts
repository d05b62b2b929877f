import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findInstallation } from '../../src/config/runtimeFile.ts'
import { writeSecretFile } from '../../src/dev/dataDir.ts'
import { tempFolder } from '../support/tempFolder.ts'

const running = {
  DATABASE_URL: 'postgres://darkroom:hidden@127.0.0.1:5433/darkroom',
  KEY_PEPPER: 'pepper-of-npm-start',
}

function find(environment: Readonly<Record<string, string>>) {
  const dataDir = tempFolder()
  writeFileSync(join(dataDir, 'runtime.json'), JSON.stringify({ environment: running }))
  const found = findInstallation({ DATA_DIR: dataDir, ...environment })
  return { ...found, name: found.name.replace(dataDir, 'DIR') }
}

describe('the installation of a command', () => {
  it.each([{}, running, { DATABASE_URL: running.DATABASE_URL }, { DATABASE_URL: '' }])(
    'is the running npm start, unless another is set: %j',
    (environment) => {
      const { name, environment: found } = find({ ...environment, SIGNING_KEYS: 'x' })
      expect(found).toMatchObject({ ...running, SIGNING_KEYS: 'x' })
      expect(name).toBe('`npm start` on DIR')
    },
  )

  it.each([
    { DATABASE_URL: 'postgres://darkroom:hidden@db/darkroom' },
    { DATABASE_SESSION_URL: 'postgres://darkroom:hidden@db/darkroom' },
    { KEY_PEPPER: 'pepper-of-another-installation' },
    { TEMPORAL_ADDRESS: 'temporal:7233' },
  ])('is that of the environment alone: %j', (environment) => {
    const { name, environment: found } = find(environment)
    expect(found).toEqual({ ...environment, DATA_DIR: expect.any(String) })
    expect(name).toContain(`It sets ${Object.keys(environment)[0]}, so the \`npm start\` on DIR`)
    expect(name).not.toMatch(/hidden|pepper-/)
  })
})

it('a file with secrets is readable by its owner only, also when a crash left other files in its place', async () => {
  const folder = tempFolder()
  const path = join(folder, 'secret')
  writeFileSync(path, 'old', { mode: 0o644 })
  writeFileSync(`${path}.new`, 'half', { mode: 0o644 })
  await writeSecretFile(path, 'new')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual(['secret'])
})
