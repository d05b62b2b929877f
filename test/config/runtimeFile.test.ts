import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withRuntimeFile } from '../../src/config/runtimeFile.ts'
import { writeSecretFile } from '../../src/dev/dataDir.ts'
import { tempFolder } from '../support/tempFolder.ts'

it('the runtime file adds its variables, and variables that are set win', () => {
  const dataDir = tempFolder()
  const environment = { PORT: '8080', HOST: '127.0.0.1' }
  writeFileSync(join(dataDir, 'runtime.json'), JSON.stringify({ environment }))
  const read = withRuntimeFile({ DATA_DIR: dataDir, PORT: '9', HOST: '' })
  expect(read).toEqual({ DATA_DIR: dataDir, PORT: '9', HOST: '127.0.0.1' })
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
