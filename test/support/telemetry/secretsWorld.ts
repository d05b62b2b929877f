import { randomBytes } from 'node:crypto'
import { redPixelPng } from '../images.ts'
import { freePort } from '../ports.ts'
import { simulatorFile } from '../service/simulatorFile.ts'
import { startTestService } from '../service/testService.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import type { WebhookClient } from '../webhooks/webhookClient.ts'
import { createWebhookClient } from '../webhooks/webhookClient.ts'
import { startEchoUpstream } from './echoUpstream.ts'
import { startTraceCollector } from './traceCollector.ts'

/** A random text, so that a match anywhere on this machine can only come from this run. */
const randomText = (kind: string) => `${kind}${randomBytes(12).toString('hex')}`

const canary = {
  prompt: randomText('prompt'),
  idempotencyKey: randomText('idempotency'),
  fileName: randomText('file'),
  query: randomText('query'),
  upstreamCredential: randomText('credential'),
  foreignKey: randomText('foreign'),
  webhookAddress: randomText('address'),
  webhookKey: randomText('key'),
  receiversAnswer: randomText('answer'),
}

/** What the calls have left behind. */
type Left = {
  readonly taskIds: string[]
  /** Every answer to a client, except native ones: these contain text of the model. */
  readonly answers: string[]
}

/** Starts a service at the most talkative level, with a collector of traces, and makes calls that carry every kind of secret. */
export async function openSecretsWorld() {
  const [upstream, collector, receiver] = await Promise.all([
    startEchoUpstream(),
    startTraceCollector(),
    startReceiver(),
  ])
  receiver.behave = (_request, response) =>
    response.writeHead(500, { 'x-canary': canary.receiversAnswer }).end(canary.receiversAnswer)
  const internal = await freePort()
  const service = await startTestService({
    environment: {
      LOG_LEVEL: 'trace',
      INTERNAL_PORT: String(internal),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      PUBLIC_URL: 'https://images.example.test',
      UPSTREAM_CALLS_MAX: '1',
      FAMILYA_API_KEY: canary.upstreamCredential,
      FAMILYB_API_KEY: canary.upstreamCredential,
      WEBHOOK_KEYS: `new:${canary.webhookKey},old:0123456789abcdef`,
    },
    operatorFile: (simulatorUrl) => {
      upstream.forwardTo(simulatorUrl)
      return simulatorFile(upstream.url, { timeoutSeconds: 20 })
    },
  })
  const account = await service.account()
  const client = createWebhookClient({ url: service.url }, account)
  const failing = await client.register(`${receiver.url}/${canary.webhookAddress}`)
  const deaf = await client.register(`http://127.0.0.1:9/${canary.webhookAddress}`)
  const left: Left = { taskIds: [], answers: [] }
  await submitAll(client, left)
  // The operator has mended the credential that the last calls met.
  await service.pool.query('delete from cooldown')
  await callWaiting(client, left)
  await callWrongly(client, left)
  // The second try is made by the run in Temporal.
  await client.seen(failing.webhook_id, ({ attempts }) => attempts.length === 2)
  await client.seen(deaf.webhook_id, ({ attempts }) => attempts.length >= 1)
  const pages = [`http://127.0.0.1:${internal}`, service.workers[0]?.url ?? '']
  const metrics = await Promise.all(
    pages.map(async (url) => (await fetch(`${url}/metrics`)).text()),
  )
  /** Every secret by its name. */
  const secrets: Readonly<Record<string, string>> = {
    ...canary,
    accountKey: account.secret,
    signingKey: 'signing-key-of-the-tests',
    pepper: 'pepper-of-the-tests',
    webhookSecret: failing.secret.replace('whsec_', ''),
  }
  return {
    ...left,
    service,
    collector,
    client,
    secrets,
    /** A webhook whose receiver fails, and one that nobody listens to. */
    webhookIds: [failing.webhook_id, deaf.webhook_id] as const,
    /** The pages of API and worker. */
    metrics: metrics.join(''),
    stop: async () => {
      await service.stop()
      upstream.close()
      await Promise.all([collector.close(), receiver.close()])
    },
  }
}

const said = (echo: string) => `A lighthouse ${echo} named ${canary.prompt}`

async function submitAll(client: WebhookClient, { taskIds, answers }: Left): Promise<void> {
  const models = ['familyb-image-2-vip', 'familya-3-pro-image'] as const
  const submit = async (body: unknown, headers = {}) => {
    const { task_id: taskId } = await client.accepted(body, headers)
    taskIds.push(taskId)
    return taskId
  }
  const generated = { model: models[0], action: 'generate', prompt: said('') }
  await submit(generated, { 'idempotency-key': canary.idempotencyKey })
  const image = { mime_type: 'image/png', data: redPixelPng.toString('base64') }
  await submit({ ...generated, action: 'edit', input_images: [image] })
  // 401 last, because it keeps later calls from the channel.
  for (const echo of ['', 'ECHO-400', 'ECHO-500', 'ECHO-200', 'ECHO-refusal', 'ECHO-401']) {
    for (const model of models) {
      const taskId = await submit({ model, action: 'generate', prompt: said(echo) })
      answers.push(JSON.stringify(await client.ended(taskId)))
    }
  }
}

/** Synchronous calls. */
async function callWaiting(client: WebhookClient, { taskIds, answers }: Left): Promise<void> {
  const { url, authorization } = client
  const post = async (path: string, body: string | FormData) => {
    const json = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const headers = { authorization, ...json }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    taskIds.push(answer.headers.get('x-task-id') ?? '')
    return answer.text()
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
    await post('/v1beta/models/familya-3-pro-image:generateContent', JSON.stringify({ contents }))
  }
}

/** Requests that create no task. Each contains a text that must not appear anywhere. */
async function callWrongly(
  { url, authorization }: WebhookClient,
  { answers }: Left,
): Promise<void> {
  const ask = async (path: string, body?: string, key = authorization) => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body }
    answers.push(await (await fetch(`${url}${path}`, init)).text())
  }
  const bad = { model: canary.prompt, action: canary.prompt, prompt: said(''), size: canary.prompt }
  await ask('/v1/images/tasks', JSON.stringify(bad))
  await ask('/v1/images/tasks', `{"prompt": "${canary.prompt}`)
  await ask(`/v1/tasks/${canary.query}?key=${canary.query}`)
  await ask(`/${canary.query}`)
  await ask('/v1/images/tasks', JSON.stringify(bad), `Bearer ${canary.foreignKey}`)
}
