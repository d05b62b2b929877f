import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/ports.ts'
import { fetchHistory } from '../../src/temporal/runs.ts'
import { createClient } from '../support/clients/client.ts'
import { redPixelPng } from '../support/images.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { databaseBeside, formsOf, tablesHolding } from '../support/telemetry/databaseSearch.ts'
import { startEchoUpstream } from '../support/telemetry/echoUpstream.ts'

/** A random text, so that a match anywhere on this machine can only come from this test. */
const canaryText = (kind: string) => `${kind}${randomBytes(12).toString('hex')}`

const canary = {
  prompt: canaryText('prompt'),
  idempotencyKey: canaryText('idempotency'),
  fileName: canaryText('file'),
  query: canaryText('query'),
  upstreamCredential: canaryText('credential'),
  foreignKey: canaryText('foreign'),
}

let service: TestService
let accountKey: string
let secrets: Readonly<Record<string, string>>
let metrics: string
const taskIds: string[] = []
/** Every answer to a client, except native ones: these contain text of the model. */
const answers: string[] = []

beforeAll(async () => {
  const upstream = await startEchoUpstream()
  const internal = await freePort()
  service = await startTestService({
    environment: {
      LOG_LEVEL: 'debug',
      INTERNAL_PORT: String(internal),
      UPSTREAM_CALLS_MAX: '1',
      FAMILYA_API_KEY: canary.upstreamCredential,
      FAMILYB_API_KEY: canary.upstreamCredential,
    },
    operatorFile: () => ({
      channels: [
        { name: 'a', family: 'A', baseUrl: upstream.url, apiKeyEnv: 'FAMILYA_API_KEY' },
        { name: 'b', family: 'B', baseUrl: `${upstream.url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' },
      ].map((channel) => ({ ...channel, timeoutSeconds: 20 })),
    }),
  })
  accountKey = (await service.account()).secret
  secrets = {
    ...canary,
    accountKey,
    signingKey: 'signing-key-of-the-tests',
    pepper: 'pepper-of-the-tests',
  }
  await callEverything()
  const pages = [`http://127.0.0.1:${internal}`, service.workers[0]?.url ?? '']
  metrics = (
    await Promise.all(pages.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  ).join('')
  return async () => {
    await service.stop()
    upstream.close()
  }
}, stackStartMsMax)

const said = (echo: string) => `A lighthouse ${echo} named ${canary.prompt}`

async function callEverything(): Promise<void> {
  const client = createClient(service.url, accountKey)
  const models = ['familyb-image-2-vip', 'familya-3-pro-image'] as const
  const key = { 'idempotency-key': canary.idempotencyKey }
  const submit = async (body: unknown, headers = {}) => {
    const { task_id: taskId } = await client.accepted(body, headers)
    taskIds.push(taskId)
    return taskId
  }
  await submit({ model: models[0], action: 'generate', prompt: said('') }, key)
  await submit({
    model: models[0],
    action: 'edit',
    prompt: said(''),
    input_images: [{ mime_type: 'image/png', data: redPixelPng.toString('base64') }],
  })
  // 401 last and once per family, because two in a row would pause the channel for later calls.
  for (const echo of ['', 'ECHO-400', 'ECHO-500', 'ECHO-200', 'ECHO-refusal', 'ECHO-401']) {
    for (const model of models) {
      const taskId = await submit({ model, action: 'generate', prompt: said(echo) })
      answers.push(JSON.stringify(await client.ended(taskId)))
    }
  }
  await callWaiting(client.authorization)
  await callWrongly(client.authorization)
}

/** Synchronous calls. Keeps their answers, except native ones: these contain text of the model. */
async function callWaiting(authorization: string): Promise<void> {
  const post = async (path: string, body: string | FormData) => {
    const json = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const headers = { authorization, ...json }
    const answer = await fetch(`${service.url}${path}`, { method: 'POST', headers, body })
    const text = await answer.text()
    taskIds.push(answer.headers.get('x-task-id') ?? '')
    return text
  }
  for (const echo of ['', 'ECHO-429', 'ECHO-503', 'ECHO-500', 'ECHO-400', 'ECHO-403']) {
    const body = JSON.stringify({ model: 'familyb-image-2-vip', prompt: said(echo) })
    answers.push(await post('/v1/images/generations', body))
  }
  const form = new FormData()
  form.set('model', 'familyb-image-2-web')
  form.set('prompt', said(''))
  form.set('image', new Blob([redPixelPng], { type: 'image/png' }), `${canary.fileName}.png`)
  answers.push(await post('/v1/images/edits', form))
  for (const echo of ['', 'ECHO-refusal']) {
    const contents = [{ role: 'user', parts: [{ text: said(echo) }] }]
    const body = JSON.stringify({ contents })
    await post('/v1beta/models/familya-3-pro-image:generateContent', body)
  }
}

/** Requests that create no task. Each contains a text that must not appear anywhere. */
async function callWrongly(authorization: string): Promise<void> {
  const ask = async (path: string, body?: string, key = authorization) => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body }
    answers.push(await (await fetch(`${service.url}${path}`, init)).text())
  }
  const bad = { model: canary.prompt, action: canary.prompt, prompt: said(''), size: canary.prompt }
  await ask('/v1/images/tasks', JSON.stringify(bad))
  await ask('/v1/images/tasks', `{"prompt": "${canary.prompt}`)
  await ask(`/v1/tasks/${canary.query}?key=${canary.query}`)
  await ask(`/${canary.query}`)
  await ask('/v1/images/tasks', JSON.stringify(bad), `Bearer ${canary.foreignKey}`)
}

function heldIn(text: string, names: readonly string[] = Object.keys(secrets)): readonly string[] {
  return names.filter((name) => formsOf(secrets[name] ?? '').some((form) => text.includes(form)))
}

const ended = () => taskIds.filter((taskId) => taskId !== '')

describe('a prompt, a key, a credential', () => {
  it('is part of every kind of call of this test', () => {
    expect(ended().length).toBe(2 + 12 + 9)
    expect(answers.length).toBe(12 + 7 + 5)
    const codes = new Set(answers.flatMap((text) => /"code":"(\w+)"/.exec(text)?.[1] ?? []))
    expect([...codes]).toEqual(
      expect.arrayContaining([
        'upstream_invalid_request',
        'upstream_error',
        'content_policy_violation',
        'no_image_generated',
        'rate_limit_exceeded',
        'invalid_json',
        'invalid_request',
        'not_found',
      ]),
    )
  })

  it('is in no log line of API and worker, at debug level [answer-5]', () => {
    const logs = [...service.apis, ...service.workers].map((process) => process.output()).join('')
    expect(logs).toContain('"level":"debug"')
    for (const taskId of ended()) expect(logs).toContain(taskId)
    expect(heldIn(logs)).toEqual([])
  })

  it('is in no metric [answer-5]', () => {
    expect(metrics).toContain('darkroom_http_requests_total{route="/v1/images/tasks"')
    expect(metrics).toContain('darkroom_upstream_calls_total{channel="a"')
    expect(heldIn(metrics)).toEqual([])
  })

  it('is in no Temporal history [answer-5]', async () => {
    let runs = 0
    for (const taskId of ended()) {
      // A synchronous task whose first call decided has no run.
      const history = await fetchHistory(service.temporal.temporal, taskId)
      if (history === undefined) continue
      runs += 1
      expect(history).toContain(taskId)
      expect(heldIn(history)).toEqual([])
    }
    expect(runs).toBeGreaterThan(12)
  })

  it("is in no row of Temporal's databases", async () => {
    const { databaseUrl } = await embeddedStack()
    // Closed workflows reach the visibility store a little later.
    await sleep(2_000)
    for (const name of ['temporal', 'temporal_visibility']) {
      const url = databaseBeside(databaseUrl, name)
      expect(await tablesHolding(url, ended()[0] ?? '')).not.toEqual([])
      for (const [what, secret] of Object.entries(secrets)) {
        expect({ name, what, tables: await tablesHolding(url, secret) }).toEqual({
          name,
          what,
          tables: [],
        })
      }
    }
  })

  it('is not in PostgreSQL, except for the prompt of a task', async () => {
    const held = await Promise.all(
      Object.entries(secrets).map(async ([what, secret]) => {
        const tables = await tablesHolding(service.databaseUrl, secret)
        return tables.length === 0 ? [] : [what]
      }),
    )
    expect(held.flat()).toEqual(['prompt'])
  })

  it('is in no answer to a client', () => {
    const leaked = answers.filter(
      (text) => heldIn(text, ['upstreamCredential', 'accountKey']).length,
    )
    expect(leaked).toEqual([])
    const echoed = answers.filter((text) => text.includes('You said'))
    expect(echoed).toEqual([])
    const repeated = answers.filter((text) => heldIn(text, ['prompt', 'foreignKey']).length > 0)
    expect(repeated).toEqual([])
  })
})
