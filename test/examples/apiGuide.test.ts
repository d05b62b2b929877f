import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
    const env = { ...options.env, DARKROOM_URL: service.url, DARKROOM_API_KEY: secret }
    const script = `set -e\n${blocks.join('\n')}`
    const run = await runCommand('sh', ['-c', script], { ...options, env })
    expect({ ok: run.ok, output: run.output }).toEqual({ ok: true, output: expect.any(String) })
    expect(blocks.length).toBeGreaterThan(5)
    expect(run.output).toContain('"object":"account"')
    expect(run.output).toContain('task_not_cancellable')
  })
})

describe('the README', () => {
  it('makes an image by the two commands that it shows [pages-7]', async () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    const [submit = '', lookup = ''] = [
      ...readme.matchAll(/^ {4}(?:KEY=|curl -s )[^]+?\n {4}#/gm),
    ].map(([text]) => text.replaceAll('http://127.0.0.1:8080', service.url))
    const cwd = tempFolder()
    const { secret } = await service.account()
    mkdirSync(join(cwd, '.data'))
    writeFileSync(join(cwd, '.data/demo-key'), `${secret}\n`)
    const run = (script: string) =>
      runCommand('sh', ['-euc', script], { env: { PATH, HOME }, timeoutMs: 60_000, cwd })
    const submitted = await run(submit)
    const [taskId = ''] = /task_\w{32}/.exec(submitted.output) ?? []
    const key = /KEY=.*/.exec(submit)?.[0] ?? ''
    await expect
      .poll(async () => (await run(`${key}\n${lookup.replace('task_…', taskId)}`)).output)
      .toContain('"status":"succeeded","')
  })
})
