import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { faultTable } from '../../../src/dev/simulator/faults.ts'

const main = fileURLToPath(new URL('../../../src/dev/simulator/main.ts', import.meta.url))

it('runs the simulator as its own process, prints no prompt and ends on SIGTERM', async () => {
  const args = [main, '--port', '0', '--latency', '0-5', '--tiny']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  try {
    const url = /http:\S+/.exec((await lines.next()).value ?? '')?.[0]
    const response = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'familyb-image-2-web', prompt: 'a secret' }),
    })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    const { value: line } = await lines.next()
    expect(line).toMatch(/familyb-image-2-web generate ok 200 \d+ ms$/)
    expect(line).not.toContain('secret')
  } finally {
    child.kill('SIGTERM')
  }
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
})

it('prints every kind of fault with its fields for --help', async () => {
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const help = await text(child.stdout)
  for (const { kind } of faultTable) expect(help).toMatch(new RegExp(`^${kind}( [a-z]|:)`, 'm'))
  expect(help).toContain('Every fault: times delay')
  expect(help).toContain('429 retry-after form')
})
