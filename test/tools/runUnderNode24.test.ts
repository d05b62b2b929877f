import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { isSameProcessAlive, processStart } from '../../tools/processIdentity.mjs'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runner = join(root, 'tools/runUnderNode24.mjs')

/** Runs a script through the runner in a process of its own, and keeps what it prints. */
function run(script: string): { readonly child: ChildProcess; readonly output: () => string } {
  const folder = tempFolder()
  writeFileSync(join(folder, 'script.mjs'), script)
  writeFileSync(
    join(folder, 'run.mjs'),
    `import { runUnderNode24 } from ${JSON.stringify(runner)}
     runUnderNode24(${JSON.stringify(root)}, ${JSON.stringify(join(folder, 'script.mjs'))}, ['a b'])`,
  )
  const child = spawn(process.execPath, [join(folder, 'run.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { child, output: () => output }
}

it('passes on the arguments and the exit code', async () => {
  const { child, output } = run('console.log(process.argv.slice(2)); process.exit(7)')
  expect(await once(child, 'exit')).toEqual([7, null])
  expect(output()).toContain("[ 'a b' ]")
})

it('ends by the signal that ended the script', async () => {
  const { child } = run('process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)')
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
})

it('forwards a signal once when it arrives several times at once', async () => {
  const { child, output } = run(`
    let count = 0
    process.on('SIGINT', () => { count += 1; setTimeout(() => process.exit(count), 500) })
    setInterval(() => {}, 1000)
    console.log('ready')`)
  await until('a running script', () => output().includes('ready') || undefined)
  child.kill('SIGINT')
  child.kill('SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 50))
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([1, null])
})

it('ends the script when the runner is killed', async () => {
  const { child, output } = run('console.log(`pid=${process.pid};`); setInterval(() => {}, 1000)')
  await until('the pid of the script', () => output().includes(';') || undefined)
  const pid = Number(/pid=(\d+)/.exec(output())?.[1])
  const script = { pid, start: processStart(pid) ?? '' }
  expect(isSameProcessAlive(script)).toBe(true)
  child.kill('SIGKILL')
  await until('the end of the script', () => !isSameProcessAlive(script) || undefined)
})
