import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Darkroom } from '../../clients/typescript/src/darkroom.ts'
import { runCommand, spawnBound } from '../../src/dev/command.ts'
import { bought, once } from '../support/clients/bought.ts'
import { useClientsIn } from '../support/clients/clientPackages.ts'
import { startFaultProxy } from '../support/clients/faultProxy.ts'
import { findPythonTools } from '../support/clients/pythonTools.ts'
import { redPixelPng } from '../support/images.ts'
import { freePort } from '../support/ports.ts'
import { createSeeded } from '../support/seeded.ts'
import { calmService } from '../support/service/calmService.ts'
import { root, textOf } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { until } from '../support/timing.ts'
import { listen } from '../support/upstream/testServers.ts'
import { useFinished } from '../support/useFinished.ts'

const model = 'familyb-image-2-vip'
const service = await calmService()
const finished = useFinished()
const tools = await findPythonTools()
const noPython = typeof tools === 'string' ? tools : ''
const languages = [
  { language: 'TypeScript', ending: 'ts', program: process.execPath },
  {
    language: 'Python',
    ending: 'py',
    program: typeof tools === 'string' ? undefined : tools.python,
  },
] as const

const [rows, kills] = [24, 5]

const isPng = (file: string) => readFileSync(file).subarray(1, 4).toString() === 'PNG'

// Each example waits most of the time.
describe.concurrent.each(languages)(
  'the examples in $language',
  ({ language, ending, program }) => {
    /** Starts an example in a folder of its own, where the clients can be imported. */
    function open(more: Readonly<Record<string, string>>) {
      const cwd = tempFolder(finished)
      const { PATH = '', HOME = '' } = process.env
      const env = { PATH, HOME, ...useClientsIn(cwd), ...more }
      const start = (name: string, ...args: readonly string[]) => {
        // As people have it: a copy beside the packages.
        const file = `${name}.${ending}`
        writeFileSync(join(cwd, file), textOf(`examples/${language.toLowerCase()}/${file}`))
        const given = { file: program ?? '', args: [file, ...args], env, cwd }
        const started = spawnBound(given, { stdio: ['pipe', 'pipe', 'pipe'] })
        let output = ''
        for (const stream of [started.child.stdout, started.child.stderr]) {
          stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
        }
        return { ...started, output: () => output }
      }
      return { cwd, start }
    }

    it(`batch buys each of ${rows} rows once, though it is killed ${kills} times [pages-7]`, async ({
      skip,
    }) => {
      if (program === undefined) skip(noPython)
      const { secret } = await service.account()
      const random = createSeeded(20)
      let requestsLeft = Infinity
      let kill = () => {}
      const proxy = await startFaultProxy(
        service.url,
        () => {
          requestsLeft -= 1
          if (requestsLeft === 0) kill()
          return undefined
        },
        finished,
      )
      const { cwd, start } = open({ DARKROOM_URL: proxy.url, DARKROOM_API_KEY: secret })
      const lines = Array.from(
        { length: rows },
        (_, n) => `row-${n},"A ""${language}"" batch, ${n}"`,
      )
      // As Excel writes it.
      writeFileSync(join(cwd, 'prompts.csv'), `\ufeffname,prompt\r\n${lines.join('\r\n')}\r\n`)
      for (let killed = 0; killed < kills; killed += 1) {
        // In all fewer than the three that each image needs.
        requestsLeft = random.between(1, 14)
        const run = start('batch', 'prompts.csv', 'images')
        kill = () => run.kill('SIGKILL')
        expect({ end: await run.ended, output: run.output() }).toMatchObject({ end: 'SIGKILL' })
      }
      requestsLeft = Infinity
      const last = start('batch', 'prompts.csv', 'images')
      expect({ end: await last.ended, output: last.output() }).toMatchObject({ end: 'exit 0' })
      const images = readdirSync(join(cwd, 'images')).filter((name) => name.endsWith('.png'))
      expect(images.length).toBe(rows)
      expect(images.every((name) => isPng(join(cwd, 'images', name)))).toBe(true)
      expect(await bought({ url: service.url, secret })).toEqual({ tasks: rows, charges: rows })
      const prompt = `A "${language}" batch, ${rows - 1}`
      expect((await service.simulator.calls({ prompt })).length).toBe(1)
    }, 180_000)

    it('batch buys nothing of a file that is no CSV', async ({ skip }) => {
      if (program === undefined) skip(noPython)
      const { secret } = await service.account()
      const { cwd, start } = open({ DARKROOM_URL: service.url, DARKROOM_API_KEY: secret })
      // A quote that ends the field too early, one that never ends it, and a comma without quotes.
      for (const wrong of ['"A 5" nail"', '"A nail', 'A nail, rusty']) {
        writeFileSync(join(cwd, 'prompts.csv'), `name,prompt\na,A ${language} nail\nb,${wrong}\n`)
        const run = start('batch', 'prompts.csv', 'images')
        expect({ end: await run.ended, output: run.output() }).toMatchObject({
          end: 'exit 1',
          output: expect.stringMatching(/Line [34]|too many fields/),
        })
      }
      expect(await bought({ url: service.url, secret })).toEqual({ tasks: 0, charges: 0 })
    }, 180_000)

    it('edits edits what the prompt before it made, and buys no step again', async ({ skip }) => {
      if (program === undefined) skip(noPython)
      const { secret } = await service.account()
      const { cwd, start } = open({ DARKROOM_URL: service.url, DARKROOM_API_KEY: secret })
      writeFileSync(join(cwd, 'source.png'), redPixelPng)
      const prompts = [`${language} night`, `${language} snow`]
      const first = start('edits', 'source.png', 'images', ...prompts.slice(0, 1))
      expect({ end: await first.ended, output: first.output() }).toMatchObject({ end: 'exit 0' })
      expect(await bought({ url: service.url, secret })).toEqual(once)
      const both = start('edits', 'source.png', 'images', ...prompts)
      expect({ end: await both.ended, output: both.output() }).toMatchObject({ end: 'exit 0' })
      const made = both.output().trim().split(/\s+/)
      expect(made.map((name) => isPng(join(cwd, name)))).toEqual([true, true])
      const [call] = await service.simulator.calls({ prompt: prompts[1] ?? '' })
      const firstImage = readFileSync(join(cwd, made[0] ?? ''))
      expect(call?.images).toMatchObject([{ bytes: firstImage.length }])
      expect(await bought({ url: service.url, secret })).toEqual({ tasks: 2, charges: 2 })
    })

    it('receiver keeps the image of a delivery, and refuses forged and old ones [hook-1]', async ({
      skip,
    }) => {
      if (program === undefined) skip(noPython)
      const account = await service.account()
      const darkroom = new Darkroom({ baseUrl: service.url, apiKey: account.secret })
      const PORT = String(await freePort())
      const url = `http://127.0.0.1:${PORT}/`
      const { secret } = await darkroom.webhooks.create({ url })
      const given = { DARKROOM_URL: service.url, DARKROOM_API_KEY: account.secret, PORT }
      const { cwd, start } = open({ ...given, DARKROOM_WEBHOOK_SECRET: secret })
      const receiver = start('receiver', 'images')
      await until('listening', () => (receiver.output().includes('listening') ? true : undefined))
      const { task } = await darkroom.images.generate({ model, prompt: `${language} receiver` })
      const file = join('images', `${task.task_id}.png`)
      await until('kept', () => (receiver.output().includes(file) ? true : undefined))
      expect(isPng(join(cwd, file))).toBe(true)

      const body = JSON.stringify({ type: 'task.succeeded', data: task })
      const { webhooks } = darkroom
      const right = await webhooks.sign(body, secret)
      const old = await webhooks.sign(body, secret, { at: new Date(Date.now() - 360_000) })
      const send = async (headers: Readonly<Record<string, string>>, sent = body) =>
        (await fetch(url, { method: 'POST', body: sent, headers: { ...headers } })).status
      expect(await send(right)).toBe(204)
      expect(await send(old)).toBe(400)
      expect(await send({ ...right, 'webhook-timestamp': old['webhook-timestamp'] })).toBe(400)
      expect(await send({ ...right, 'webhook-id': 'whd_forged' })).toBe(400)
      expect(await send({ ...right, 'webhook-signature': '' })).toBe(400)
      expect(await send(right, `${body} `)).toBe(400)
      expect(receiver.output().split(file).length).toBe(2)
      // What cannot be kept now is to come again.
      const lost = JSON.stringify({ type: 'task.succeeded', data: { ...task, task_id: 'a/b' } })
      expect(await send(await webhooks.sign(lost, secret), lost)).toBe(503)
      receiver.kill('SIGKILL')
      await receiver.ended
    })
  },
)

it('submitAndPoll.sh makes an image with curl alone, where tries fail and images redirect [auth-6, pages-7]', async ({
  skip,
}) => {
  const { PATH = '', HOME = '' } = process.env
  const { secret } = await service.account()
  const cwd = tempFolder()
  const image = await listen((request, response) => {
    if (request.url === '/there') response.end(redPixelPng)
    else response.writeHead(302, { location: '/there' }).end()
  })
  const record = { status: 'succeeded', output: { assets: [{ url: image }] } }
  const proxy = await startFaultProxy(service.url, ({ method }, number) => {
    const fails = method === 'POST' ? number === 1 : number === 2
    if (fails) return { status: 429, headers: { 'retry-after': '1' }, body: '{"error":{}}' }
    return number > 2 ? { status: 200, body: JSON.stringify(record) } : undefined
  })
  const run = (...command: readonly string[]) =>
    runCommand('sh', command, {
      env: { PATH, HOME, DARKROOM_URL: proxy.url, DARKROOM_API_KEY: secret },
      timeoutMs: 60_000,
      cwd,
    })
  if (!(await run('-c', 'jq --version && curl --version')).ok) skip('Skipped: no curl or no jq.')
  const ran = await run(join(root, 'examples/curl/submitAndPoll.sh'))
  expect({ ok: ran.ok, output: ran.output }).toEqual({
    ok: true,
    output: expect.stringMatching(/^task_\w+ succeeded: image\.png$/m),
  })
  expect(isPng(join(cwd, 'image.png'))).toBe(true)
  expect((await bought({ url: service.url, secret })).tasks).toBe(1)
})
