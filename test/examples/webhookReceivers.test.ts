import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signedHeaders } from '../../src/receivers/postDelivery.ts'
import { until } from '../support/timing.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
const otherSecret = 'whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE='
const body = JSON.stringify({ type: 'task.succeeded', data: { task_id: 'task_of_the_test' } })

describe.each([
  [process.execPath, 'receiver.mjs'],
  ['python3', 'receiver.py'],
])('the example for %s', (command, file) => {
  let child: ChildProcess
  let output = ''
  let url: string
  beforeAll(async () => {
    const script = fileURLToPath(new URL(`../../examples/webhooks/${file}`, import.meta.url))
    child = spawn(command, [script], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        WEBHOOK_SECRET: secret,
        PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    }
    const port = await until(`${file} listening`, () => /listening on (\d+)/.exec(output)?.[1])
    url = `http://127.0.0.1:${port}/`
  })
  afterAll(async () => {
    const ended = once(child, 'exit')
    child.kill()
    await ended
  })

  let count = 0
  function signed(secrets: readonly string[], nowMs = Date.now()) {
    count += 1
    return signedHeaders({ url, deliveryId: `whd_${file}_${count}`, body, secrets }, nowMs)
  }
  async function post(headers: Record<string, string>, text = body): Promise<number> {
    return (await fetch(url, { method: 'POST', headers, body: text })).status
  }
  const handled = () => output.split('task.succeeded task_of_the_test').length - 1

  it('handles a delivery once, also when it arrives again', async () => {
    const before = handled()
    const headers = signed([secret])
    expect([await post(headers), await post(headers)]).toEqual([204, 204])
    await until('handled', () => (handled() > before ? true : undefined))
    expect(handled()).toBe(before + 1)
  })

  it('accepts a delivery with two signatures, while a secret is replaced', async () => {
    const before = handled()
    expect(await post(signed([otherSecret, secret]))).toBe(204)
    await until('handled', () => (handled() > before ? true : undefined))
  })

  it.each([
    ['with another secret', () => post(signed([otherSecret]))],
    ['with another body', () => post(signed([secret]), body.replace('succeeded', 'failed'))],
    ['with another id', () => post({ ...signed([secret]), 'webhook-id': 'whd_forged' })],
    ['without a signature', () => post({ ...signed([secret]), 'webhook-signature': '' })],
    ['that is six minutes old', () => post(signed([secret], Date.now() - 360_000))],
    ['from six minutes ahead', () => post(signed([secret], Date.now() + 360_000))],
    [
      'that is old and says that it is new',
      () =>
        post({
          ...signed([secret], Date.now() - 360_000),
          'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        }),
    ],
  ])('refuses a delivery %s [hook-1]', async (_what, send) => {
    const before = handled()
    expect(await send()).toBe(400)
    expect(handled()).toBe(before)
  })
})
