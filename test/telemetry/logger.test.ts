import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const source = new URL('../../src/telemetry/logger.ts', import.meta.url).href

/** Logs one line in a process of its own, because the logger writes to its standard output itself. */
async function logged(fields: string): Promise<unknown> {
  const script = `
    import { createLogger } from '${source}'
    createLogger({ level: 'info', process: 'api', pretty: false }).error('broken', ${fields})`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 })
  return JSON.parse(stdout)
}

it('logs of an error its name, code and frames, but no message, which may quote a prompt [answer-5]', async () => {
  const error = `Object.assign(new TypeError('a secret prompt'), { code: 'E_BROKEN' })`
  const line = await logged(`{ taskId: 'task_1', error: ${error} }`)
  expect(line).toMatchObject({
    msg: 'broken',
    taskId: 'task_1',
    error: { name: 'TypeError', code: 'E_BROKEN', at: expect.any(Array) },
  })
  expect(JSON.stringify(line)).not.toContain('secret')
})

it('logs no field that it does not know', async () => {
  expect(await logged(`{ taskId: 'task_1', prompt: 'a secret prompt' }`)).toEqual({
    level: 'error',
    time: expect.any(String),
    process: 'api',
    taskId: 'task_1',
    msg: 'broken',
  })
})

it.each([
  ['lines of JSON', false],
  ['lines for a terminal', true],
])('a log that cannot be written loses %s, and ends nothing', async (_kind, pretty) => {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { createLogger } from '${source}'
    const log = createLogger({ level: 'info', process: 'api', pretty: ${pretty} })
    for (let n = 0; n < 5; n += 1) {
      log.info('lost')
      await sleep(50)
    }
    process.stderr.write('still here')`
  // Every write to this device fails, like those to a terminal that was closed.
  const command = ['-c', '"$0" "$@" >/dev/full', process.execPath]
  const args = [...command, '--input-type=module', '--eval', script]
  const { stderr } = await promisify(execFile)('sh', args, { timeout: 30_000 })
  expect(stderr).toBe('still here')
})

it('logs what was odd about the answer of an upstream', async () => {
  const odd = { shape: 'event_stream', imageCount: 2, leftOutBytes: 5_000_000 }
  expect(await logged(JSON.stringify(odd))).toMatchObject(odd)
})
