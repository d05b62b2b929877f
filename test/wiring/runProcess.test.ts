import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'

const source = new URL('../../src/wiring/runProcess.ts', import.meta.url).href

/** Runs a process whose start returns `running`, a JavaScript expression. */
async function runWith(running: string, signal?: NodeJS.Signals) {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { runProcess } from '${source}'
    await runProcess('worker', async () => (${running}))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH: process.env['PATH'] },
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  if (signal !== undefined) {
    await once(child.stdout, 'data')
    child.kill(signal)
  }
  const [code] = await once(child, 'exit')
  return { code, output: (await output).join('') }
}

it('ends a process that fails only after its work under way has finished', async () => {
  const { code, output } = await runWith(`{
    ended: sleep(50).then(() => { throw new Error('Temporal failed') }),
    stop: () => sleep(500).then(() => console.log('work finished')),
  }`)
  expect(code).toBe(1)
  expect(output).toContain('work finished')
  expect(output).toMatch(/^Temporal failed$/m)
})

it('stops once, also when the process fails during its stop', async () => {
  const { code, output } = await runWith(
    `(() => {
      const failed = Promise.withResolvers()
      setInterval(() => {}, 1000)
      setTimeout(() => console.log('started'), 100)
      return {
        ended: failed.promise,
        stop: async () => {
          console.log('stop begins')
          failed.reject(new Error('Temporal failed'))
          await sleep(300)
          console.log('work finished')
        },
      }
    })()`,
    'SIGTERM',
  )
  expect(output.match(/stop begins/g)).toHaveLength(1)
  expect(output).toContain('work finished')
  expect([0, 1]).toContain(code)
})

it('ends with its parent, also while it has lines of the log that nobody read', async () => {
  const script = `
    import { runProcess } from '${source}'
    await runProcess('worker', async (_config, log) => {
      setInterval(() => {
        for (let n = 0; n < 100; n += 1) log.warn('away', { reason: 'x'.repeat(200) })
      }, 1)
      return { ended: new Promise(() => {}), stop: async () => {} }
    })`
  const args = ['--input-type=module', '--eval', script, '--', '--exit-with-parent']
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(40_000) })
  onTestFinished(() => void child.kill('SIGKILL'))
  // The pipe is full once nothing more arrives.
  await once(child.stdout, 'readable')
  await sleep(1_000)
  child.stdout.destroy()
  child.stdin.destroy()
  expect((await exited)[1]).toBe('SIGKILL')
})
