import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'
import { until } from '../support/timing.ts'
import { tempFolder } from '../support/tempFolder.ts'

type Operation = { readonly id: string }
type Samples = Readonly<Record<string, string>>

/** The functions that the page `/docs` runs. They are JavaScript, so they are loaded by their path. */
const page = (name: string) => import(new URL(`../../src/web/docs/${name}`, import.meta.url).href)
const { operationsOf }: { operationsOf: (document: unknown) => readonly Operation[] } =
  await page('apiDocument.js')
const { samplesOf }: { samplesOf: (operation: Operation, base: string) => Samples } =
  await page('samples.js')

const { PATH = '', HOME = '' } = process.env
/**
 * How each language runs a file, a command that succeeds where the language is complete, and the line of a program
 * that runs one sample. All samples of a language run in one process, which takes a second instead of ten.
 */
const languages = [
  {
    language: 'curl',
    ending: 'sh',
    run: ['sh', '-e'],
    probe: ['curl', '--version'],
    line: (file: string, task: string) => `echo ${file}; TASK_ID=${task} sh ${file}`,
  },
  {
    language: 'JavaScript',
    ending: 'mjs',
    run: [process.execPath],
    probe: ['true'],
    line: (file: string, task: string) =>
      `process.env.TASK_ID = '${task}'; await import('./${file}')`,
  },
  {
    language: 'Python',
    ending: 'py',
    run: ['python3'],
    probe: ['python3', '-c', 'import requests'],
    line: (file: string, task: string) =>
      `import os, runpy; os.environ['TASK_ID'] = '${task}'; runpy.run_path('${file}')`,
  },
] as const

const service = await calmService()
const { secret } = await service.account(10_000)
const client = createClient(service.url, secret)
let operations: readonly Operation[] = []
let ended = ''
let cancelled = ''
let assetUrl = ''
beforeAll(async () => {
  const document: unknown = await (await fetch(`${service.url}/openapi.json`)).json()
  // What deletes the webhook comes last.
  operations = operationsOf(document).toSorted(
    (a, b) => Number(a.id === 'deleteWebhook') - Number(b.id === 'deleteWebhook'),
  )
  ;({ task_id: ended } = await client.accepted(generateBody()))
  assetUrl = (await client.ended(ended)).output?.assets[0]?.url ?? ''
  // A task can be cancelled while it waits for its next call.
  const refused = { model: 'familya-2.5-flash-image', prompt: 'samples [sim:429 retry-after=2]' }
  ;({ task_id: cancelled } = await client.accepted(generateBody(refused)))
  await until('a cancelled task', async () =>
    (await post(`/v1/tasks/${cancelled}/cancel`)).ok ? true : undefined,
  )
}, 60_000)

async function post(path: string, body?: unknown): Promise<Response> {
  return fetch(service.url + path, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

describe('the samples of the reference', () => {
  it.each(languages)(
    'do what they say: $language [pages-7]',
    async ({ language, ending, run, probe, line }) => {
      const cwd = tempFolder()
      const start = (command: readonly string[], env: Readonly<Record<string, string>> = {}) =>
        runCommand(command[0] ?? '', command.slice(1), {
          env: { PATH, HOME, ...env },
          timeoutMs: 60_000,
          cwd,
        })
      if (!(await start(probe)).ok) return console.warn(`Skipped: ${probe.join(' ')} fails here.`)
      writeFileSync(join(cwd, 'source.png'), redPixelPng)
      const webhook = await post('/v1/webhooks', { url: 'https://example.com/hook' })
      const { webhook_id: webhookId } = Object(await webhook.json())
      const tested = await post(`/v1/webhooks/${webhookId}/test`)
      const { delivery_id: deliveryId } = Object(await tested.json())
      const program = operations.map((operation) => {
        const file = `${operation.id}.${ending}`
        writeFileSync(join(cwd, file), samplesOf(operation, service.url)[language] ?? 'missing')
        const ends = ['cancelTask', 'deleteTask'].includes(operation.id)
        return line(file, ends ? cancelled : ended)
      })
      writeFileSync(join(cwd, `all.${ending}`), program.join('\n'))
      const ran = await start([...run, `all.${ending}`], {
        DARKROOM_KEY: secret,
        MODEL: 'familya-3.1-flash-image',
        ASSET_URL: assetUrl,
        WEBHOOK_ID: webhookId,
        DELIVERY_ID: deliveryId,
      })
      expect({ ok: ran.ok, output: ran.output }).toEqual({ ok: true, output: expect.any(String) })
      expect(operations.length).toBeGreaterThan(25)
      expect(readFileSync(join(cwd, 'image.png')).subarray(1, 4).toString()).toBe('PNG')
    },
    60_000,
  )
})
