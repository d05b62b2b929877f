import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSecrets } from '../../src/config/secrets.ts'
import { embeddedSecret } from '../../src/dev/secretFile.ts'
import { tempFolder } from '../support/tempFolder.ts'

describe('an embedded secret', () => {
  it('is generated once, and only its owner can read it', async () => {
    const dataDir = tempFolder()
    const made = await embeddedSecret(dataDir, 'key-pepper')
    expect(readSecrets('KEY_PEPPER', made)).toHaveLength(1)
    expect(await embeddedSecret(dataDir, 'key-pepper')).toBe(made)
    expect(statSync(join(dataDir, 'key-pepper')).mode & 0o777).toBe(0o600)
  })

  it('is generated when a crash has left an empty file and half a draft', async () => {
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
