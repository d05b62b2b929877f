import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { pgBouncerProgram } from '../support/database/pgBouncer.ts'

const needed = [
  ['unshare', '--net', '--mount', 'ip', 'link', 'add', 'br0', 'type', 'bridge'],
  ['nft', '--version'],
  [pgBouncerProgram, '--version'],
]
const missing = needed
  .map(([file = '', ...args]) => ({ file, ...spawnSync(file, args, { stdio: 'ignore' }) }))
  .find(({ status }) => status !== 0)

it.skipIf(missing !== undefined)(
  `promises hold on hosts that are cut off, killed and wrong about the time${missing ? ` (skipped: ${missing.file} fails here)` : ''}`,
  async () => {
    const asked = '--seed 2 --seconds 9 --tasks 30 --only network,clocks,processes'
    const run = promisify(execFile)(process.execPath, ['bench/hosts.ts', ...asked.split(' ')])
    const { stdout } = await run.catch((error: unknown) => {
      throw new Error(Object(error).stdout + Object(error).stderr)
    })
    for (const struck of ['cut', 'clock off by 1 h', 'kill -9']) expect(stdout).toContain(struck)
  },
  300_000,
)
