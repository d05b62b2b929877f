import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeTypes } from '../../clients/typescript/makeTypes.ts'
import { runCommand } from '../../src/dev/command.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'
import { root, textOf } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { listen } from '../support/upstream/testServers.ts'
import { launchChromium, noChromium, visit } from '../support/web/browser.ts'

const packageFolder = join(root, 'clients/typescript')
const service = await calmService()
const { secret } = await service.account()
/** An empty project, into which the package is installed as people get it. */
const project = tempFolder(afterAll)
const installed = join(project, 'node_modules/darkroom-client')

/** Runs a program to its end, and returns what it printed. */
async function run(file: string, args: readonly string[], cwd = project): Promise<string> {
  const env = { ...process.env, DARKROOM_URL: service.url, DARKROOM_API_KEY: secret }
  const { ok, end, output } = await runCommand(file, args, { env, cwd, timeoutMs: 80_000 })
  if (!ok) throw new Error(`${file} ${args.join(' ')}: ${end}\n${output}`)
  return output
}

beforeAll(async () => {
  await run('npm', ['pack', '--silent', '--pack-destination', project], packageFolder)
  const [tarball = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', `./${tarball}`])
}, 180_000)

const program = `
import { Darkroom, DarkroomError, type Picture, type Task } from 'darkroom-client'

const darkroom = new Darkroom({ timeoutMs: 60_000 })
export async function use(signal: AbortSignal): Promise<Task['status']> {
  const model = 'familyb-image-2-vip'
  const picture: Picture = await darkroom.images.edit(
    { model, prompt: 'A lighthouse', size: '1024x1024', images: [new Blob([])] },
    { signal, onProgress: ({ progress }) => progress.toFixed() },
  )
  for await (const { task_id } of darkroom.tasks.list({ status: 'failed' })) task_id.length
  for await (const record of darkroom.tasks.follow('task_1')) record.credits_charged
  const event = await darkroom.webhooks.unwrap('', new Headers(), 'whsec_')
  if (event.type === 'key.budget_reached') event.data.budget.split('/')
  const blob = new Blob([await picture.variant({ width: 512, format: 'webp' }).bytes()])
  // @ts-expect-error No such field.
  await darkroom.images.generate({ model, prompt: '', sizes: '1x1' }).catch((error: unknown) => {
    if (error instanceof DarkroomError) error.idempotencyKey?.length
  })
  return blob.size > 0 ? picture.task.status : 'failed'
}
`

describe('the package of the TypeScript client', () => {
  it('has types that are those of the API', () => {
    // Otherwise run `node clients/typescript/makeTypes.ts`.
    expect(textOf('clients/typescript/src/apiTypes.ts')).toBe(makeTypes())
  })

  it('needs no other package', () => {
    const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'),
    )
    expect([dependencies, peerDependencies, optionalDependencies]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(readdirSync(installed).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
    ])
    expect(
      readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
    ).toEqual(['darkroom-client'])
  })

  it.each([
    ['node16', ['--module', 'node16', '--lib', 'es2023', '--types', 'node']],
    ['bundler', ['--module', 'esnext', '--lib', 'es2023,dom', '--types', '']],
  ])('is type-checked strictly under moduleResolution %s', async (resolution, more) => {
    mkdirSync(join(project, resolution))
    const file = join(project, resolution, 'program.ts')
    writeFileSync(file, program)
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
    const typeRoots = ['--typeRoots', join(root, 'node_modules/@types'), ...more]
    const target = ['--noEmit', '--target', 'es2022', '--moduleResolution', resolution]
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const complaints = await run(process.execPath, [tsc, ...target, ...strict, ...typeRoots, file])
    expect(complaints).toBe('')
  })

  it('makes an image in Node', async () => {
    const script = `
      import { Darkroom } from 'darkroom-client'
      const model = 'familyb-image-2-vip'
      const picture = await new Darkroom().images.generate({ model, prompt: 'packed' })
      await picture.save('packed.png')`
    await run(process.execPath, ['--input-type=module', '-e', script])
    expect(readFileSync(join(project, 'packed.png')).subarray(1, 4).toString()).toBe('PNG')
  })

  it('brings the MCP server as a command', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    const command = join(project, 'node_modules/.bin/darkroom-client')
    const env = {
      PATH: process.env['PATH'] ?? '',
      DARKROOM_URL: service.url,
      DARKROOM_API_KEY: secret,
    }
    await client.connect(new StdioClientTransport({ command, args: ['mcp'], env }))
    expect((await client.listTools()).tools.length).toBe(5)
    await client.close()
    expect(readFileSync(join(installed, 'dist/cli.licenses.txt'), 'utf8')).toContain('hono')
  })

  it('24 is one core for every runtime: it makes and edits an image in Chromium too', async ({
    skip,
  }) => {
    if (noChromium !== undefined) skip(noChromium)
    const url = await listen((request, response) => {
      const path = request.url ?? ''
      const isScript = path.startsWith('/dist/')
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
      response.end(isScript ? readFileSync(join(installed, path)) : '')
    })
    const browser = await launchChromium()
    try {
      const { page, complaints } = await visit(browser, url)
      const source = `data:image/png;base64,${redPixelPng.toString('base64')}`
      const settings = JSON.stringify({ baseUrl: service.url, apiKey: secret })
      const made = await page.evaluate<{ bytes: number; credits_charged: number }>(`(async () => {
        const { Darkroom } = await import('/dist/darkroom.js')
        const darkroom = new Darkroom(${settings})
        const model = 'familyb-image-2-vip'
        const first = await darkroom.images.generate({ model, prompt: 'in a page' })
        const images = [await first.bytes(), await (await fetch('${source}')).blob()]
        const second = await darkroom.images.edit({ model, prompt: 'in a page', images })
        const { credits_charged } = second.task
        return { bytes: (await second.bytes()).length, credits_charged }
      })()`)
      expect(made.bytes).toBeGreaterThan(60)
      expect(made.credits_charged).toBeGreaterThan(0)
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
    }
  })
})
