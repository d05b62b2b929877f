import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { embeddedSecret } from '../../src/dev/embeddedSecrets.ts'
import { postgresPassword } from '../../src/dev/stack/postgresPassword.ts'
import { tempFolder } from '../support/tempFolder.ts'

describe('an embedded secret', () => {
  it("is made once, and is the owner's alone", async () => {
    const dataDir = tempFolder()
    const made = await embeddedSecret(dataDir, 'key-pepper')
    expect(readConfig({ KEY_PEPPER: made }).keyPeppers).toHaveLength(1)
    expect(await embeddedSecret(dataDir, 'key-pepper')).toBe(made)
    expect(statSync(join(dataDir, 'key-pepper')).mode & 0o777).toBe(0o600)
  })

  it('is made where a crash has left an empty file or half of one beside', async () => {
    const dataDir = tempFolder()
    const path = join(dataDir, 'key-pepper')
    writeFileSync(path, '', { mode: 0o644 })
    writeFileSync(`${path}.new`, 'half', { mode: 0o644 })
    const made = await embeddedSecret(dataDir, 'key-pepper')
    expect(readFileSync(path, 'utf8')).toBe(`${made}\n`)
    expect(made).toMatch(/^[0-9a-f]{8}:.{43}$/)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(['key-pepper'])
  })

  it('is not replaced when it cannot be read', async () => {
    const dataDir = tempFolder()
    mkdirSync(join(dataDir, 'key-pepper'))
    await expect(embeddedSecret(dataDir, 'key-pepper')).rejects.toThrow('EISDIR')
  })
})

describe('the password of the embedded PostgreSQL', () => {
  it('is made where a crash has left an empty file', async () => {
    const dataDir = tempFolder()
    writeFileSync(join(dataDir, 'postgres-password'), '')
    const made = await postgresPassword(dataDir, join(dataDir, 'postgres'))
    expect(made).toMatch(/^[0-9a-f]{48}$/)
    expect(await postgresPassword(dataDir, join(dataDir, 'postgres'))).toBe(made)
  })

  it('is asked for when it is empty and there is data under it', async () => {
    const dataDir = tempFolder()
    writeFileSync(join(dataDir, 'postgres-password'), '')
    writeFileSync(join(dataDir, 'PG_VERSION'), '18')
    await expect(postgresPassword(dataDir, dataDir)).rejects.toThrow('is missing or empty')
  })
})
