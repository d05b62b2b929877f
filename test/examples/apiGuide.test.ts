import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { calmService } from '../support/service/calmService.ts'
import { tempFolder } from '../support/tempFolder.ts'

const guide = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const { PATH = '', HOME = '' } = process.env

const service = await calmService()

describe('the guide for API clients', () => {
  it('has shell blocks that work one after the other [pages-7]', async ({ skip }) => {
    const options = { env: { PATH, HOME }, timeoutMs: 60_000, cwd: tempFolder() }
    const probe = await runCommand('sh', ['-c', 'jq --version && curl --version'], options)
    if (!probe.ok) skip('Skipped: curl or jq is missing.')
    const { secret } = await service.account()
    const env = { ...options.env, DARKROOM_URL: service.url, DARKROOM_KEY: secret }
    const script = `set -e\n${blocks.join('\n')}`
    const run = await runCommand('sh', ['-c', script], { ...options, env })
    expect({ ok: run.ok, output: run.output }).toEqual({ ok: true, output: expect.any(String) })
    expect(blocks.length).toBeGreaterThan(5)
    expect(run.output).toContain('"object":"account"')
    expect(run.output).toContain('task_not_cancellable')
  })
})
