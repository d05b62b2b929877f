import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { withoutRoot } from '../../src/dev/postgres.ts'

it.runIf(process.getuid?.() === 0)(
  'root starts PostgreSQL from a checkout that only root may enter, as another user',
  async () => {
    const checkout = mkdtempSync(join(tmpdir(), 'darkroom-closed-'))
    onTestFinished(() => rmSync(checkout, { recursive: true }))
    const program = join(checkout, 'program')
    writeFileSync(program, '', { mode: 0o700 })
    const look = `fs.accessSync(process.argv[1], fs.constants.X_OK); console.log(process.getuid())`
    const asOther = [...(await withoutRoot({})), process.execPath, '-e', look, program]
    const { stdout } = await promisify(execFile)(asOther[0] ?? '', asOther.slice(1))
    expect(Number(stdout)).toBeGreaterThan(0)
  },
)
