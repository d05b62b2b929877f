import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const timeoutMs = 30_000

/** Runs a command of bench/ and returns its exit code and what it said. */
function runBenchCommand(...args: readonly string[]): Promise<readonly [unknown, string]> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, timeout: timeoutMs }, (error, _out, said) =>
      resolve([error?.code, said]),
    )
  })
}

describe('a command of bench/', () => {
  it.each([
    { args: ['bench/bench.ts', 'sync-1', 'nothing'], names: ['sync-20', 'door', 'neighbours'] },
    { args: ['bench/promises.ts', 'nothing'], names: ['fairness', 'waiters'] },
    { args: ['bench/chaos.ts', '--only', 'kills,nothing'], names: ['postgres', 'cancels'] },
  ])('refuses an unknown name and lists those that it knows: $args', async ({ args, names }) => {
    const [exitCode, said] = await runBenchCommand(...args)
    expect(exitCode).toBe(2)
    expect(said).toMatch(/^Unknown: nothing\. There are: /)
    for (const name of names) expect(said).toContain(name)
  })
})
