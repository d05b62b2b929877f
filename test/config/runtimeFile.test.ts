import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { withRuntimeFile, writeRuntimeFile } from '../../src/config/runtimeFile.ts'
import { tempFolder } from '../support/tempFolder.ts'

describe('the runtime file', () => {
  it('adds its variables, and variables that are set win', async () => {
    const dataDir = tempFolder()
    await writeRuntimeFile(dataDir, { PORT: '8080', HOST: '127.0.0.1' })
    const read = withRuntimeFile({ DATA_DIR: dataDir, PORT: '9', HOST: '' })
    expect(read).toEqual({ DATA_DIR: dataDir, PORT: '9', HOST: '127.0.0.1' })
  })

  it('is readable by its owner only, also when a crash left other files in its place', async () => {
    const dataDir = tempFolder()
    const path = join(dataDir, 'runtime.json')
    writeFileSync(path, 'old', { mode: 0o644 })
    writeFileSync(`${path}.new`, 'half', { mode: 0o644 })
    await writeRuntimeFile(dataDir, { PORT: '8080' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(['runtime.json'])
  })

  it('is always whole for readers while it is written again', async () => {
    const dataDir = tempFolder()
    const path = join(dataDir, 'runtime.json')
    const environment = { FILL: 'x'.repeat(200_000) }
    await writeRuntimeFile(dataDir, environment)
    const written = new AbortController()
    const writing = writeRuntimeFile(dataDir, environment).finally(() => written.abort())
    while (!written.signal.aborted) {
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ environment })
      await turn()
    }
    await writing
  })
})
