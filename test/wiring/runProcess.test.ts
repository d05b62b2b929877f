import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

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
