import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'

const source = new URL('../../src/wiring/runProcess.ts', import.meta.url).href

/** What Kubernetes sets for Services of these names. A worker reads none of them. */
const serviceLinks = {
  ADMIN_PORT: 'tcp://10.0.0.1:8081',
  INTERNAL_PORT: 'tcp://10.0.0.1:80',
  POSTGRES_PORT: 'tcp://10.0.0.1:5432',
  TEMPORAL_PORT: 'tcp://10.0.0.1:7233',
}

/** Starts a process whose start returns what `start`, a JavaScript function, returns. */
function spawnWith(start: string, ...args: readonly string[]) {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { runProcess } from '${source}'
    await runProcess('worker', ${start})`
  return spawn(process.execPath, ['--input-type=module', '--eval', script, '--', ...args], {
    env: { PATH: process.env['PATH'], ...serviceLinks },
  })
}

it('ends a process that fails only after its work under way has finished', async () => {
  const child = spawnWith(`async () => ({
    ended: sleep(50).then(() => { throw new Error('Temporal failed') }),
    failedStopMsMax: 30_000,
    stop: () => sleep(500).then(() => console.log('work finished')),
  })`)
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  expect(await once(child, 'exit')).toEqual([1, null])
  expect((await output).join('')).toMatch(/work finished[^]*^Temporal failed$/m)
})

it('ends a process that failed and cannot stop after as long as its own calls may take', async () => {
  const child = spawnWith(`async () => ({
    ended: sleep(50).then(() => { throw new Error('Temporal failed') }),
    failedStopMsMax: 500,
    stop: () => new Promise(() => setInterval(() => {}, 1_000)),
  })`)
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(40_000) })
  expect(await exited).toEqual([1, null])
})

it('starts beside variables of other processes, also when these are no use to anybody', async () => {
  const child = spawnWith(`async () => { throw new Error('it was started') }`)
  const output = text(child.stderr)
  expect(await once(child, 'exit')).toEqual([1, null])
  expect(await output).toContain('it was started')
})

it('ends with its parent, also while it has lines of the log that nobody read', async () => {
  const start = `async (_config, log) => {
    setInterval(() => {
      for (let n = 0; n < 100; n += 1) log.warn('away', { reason: 'x'.repeat(200) })
    }, 1)
    return { ended: new Promise(() => {}), stop: async () => {} }
  }`
  const child = spawnWith(start, '--exit-with-parent')
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(40_000) })
  onTestFinished(() => void child.kill('SIGKILL'))
  // The pipe is full once nothing more arrives.
  await once(child.stdout, 'readable')
  await sleep(1_000)
  child.stdout.destroy()
  child.stdin.destroy()
  expect((await exited)[1]).toBe('SIGKILL')
})
