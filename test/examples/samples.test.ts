import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { createClient } from '../support/clients/client.ts'
import { useClientsIn } from '../support/clients/clientPackages.ts'
import { findPythonTools } from '../support/clients/pythonTools.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { redPixelPng } from '../support/images.ts'
import { calmService } from '../support/service/calmService.ts'
import { until } from '../support/timing.ts'
import { tempFolder } from '../support/tempFolder.ts'
import { listen } from '../support/upstream/testServers.ts'

type Operation = { readonly id: string }
type Samples = Readonly<Record<string, string>>

/** The functions that the page `/docs` runs. They are JavaScript, so they are loaded by their path. */
const page = (name: string) => import(new URL(`../../src/web/docs/${name}`, import.meta.url).href)
const { operationsOf }: { operationsOf: (document: unknown) => readonly Operation[] } =
  await page('apiDocument.js')
const { samplesOf }: { samplesOf: (operation: Operation, base: string) => Samples } =
  await page('samples.js')

const { PATH = '', HOME = '' } = process.env
const tools = await findPythonTools()
const noPython = typeof tools === 'string' ? tools : ''

/**
 * What runs a file of each language, and the line of a program that runs one sample. All samples of a language run in one
 * process, which takes a second instead of ten.
 */
const languages = [
  {
    language: 'curl',
    ending: 'sh',
    run: 'sh',
    line: (file: string, task: string) => `set -e; echo ${file}; TASK_ID=${task} sh ${file}`,
  },
  {
    language: 'TypeScript',
    ending: 'mts',
    run: process.execPath,
    line: (file: string, task: string) =>
      `process.env.TASK_ID = '${task}'; await import('./${file}')`,
  },
  {
    language: 'Python',
    ending: 'py',
    run: typeof tools === 'string' ? undefined : tools.python,
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
  it.for(languages)(
    'do what they say: $language [auth-6, pages-7]',
    { timeout: 60_000 },
    async ({ language, ending, run, line }, { skip }) => {
      const program = run ?? skip(noPython)
      const cwd = tempFolder()
      writeFileSync(join(cwd, 'source.png'), redPixelPng)
      const webhook = await post('/v1/webhooks', { url: 'https://example.com/hook' })
      const { webhook_id: webhookId } = Object(await webhook.json())
      const tested = await post(`/v1/webhooks/${webhookId}/test`)
      const { delivery_id: deliveryId } = Object(await tested.json())
      const lines = operations.map((operation) => {
        const file = `${operation.id}.${ending}`
        writeFileSync(join(cwd, file), samplesOf(operation, service.url)[language] ?? 'missing')
        const ends = ['cancelTask', 'deleteTask'].includes(operation.id)
        return line(file, ends ? cancelled : ended)
      })
      // As with ASSET_REDIRECT.
      const image = await listen((_request, response) => {
        response.writeHead(302, { location: assetUrl }).end()
      })
      writeFileSync(join(cwd, `all.${ending}`), lines.join('\n'))
      const env = {
        PATH,
        HOME,
        ...useClientsIn(cwd),
        DARKROOM_API_KEY: secret,
        MODEL: 'familya-3.1-flash-image',
        ASSET_URL: image,
        WEBHOOK_ID: webhookId,
        DELIVERY_ID: deliveryId,
      }
      const ran = await runCommand(program, [`all.${ending}`], { env, timeoutMs: 60_000, cwd })
      expect({ ok: ran.ok, output: ran.output }).toEqual({ ok: true, output: expect.any(String) })
      expect(operations.length).toBeGreaterThan(25)
      expect(readFileSync(join(cwd, 'image.png')).subarray(1, 4).toString()).toBe('PNG')
    },
  )
})
