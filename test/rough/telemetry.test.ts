import { beforeAll, describe, expect, it } from 'vitest'
import { fetchHistory } from '../../src/temporal/runs.ts'
import { traceIdOf } from '../../src/telemetry/tracing.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { embeddedStack, stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { databaseBeside, formsOf, heldInTables } from '../support/telemetry/databaseSearch.ts'
import type { SecretsWorld } from '../support/telemetry/secretsWorld.ts'
import { openSecretsWorld } from '../support/telemetry/secretsWorld.ts'
import type { CollectedSpan } from '../support/telemetry/traceCollector.ts'
import { treeOf } from '../support/telemetry/traceCollector.ts'
import { until } from '../support/timing.ts'

let world: SecretsWorld
beforeAll(async () => {
  world = await openSecretsWorld()
  return () => world.stop()
}, stackStartMsMax)

const { keys } = Object

/** Returns the names of the secrets that a text contains, all of them or some. */
function heldIn(text: string, names = keys(world.secrets)): readonly string[] {
  return names.filter((name) =>
    formsOf(world.secrets[name] ?? '').some((form) => text.includes(form)),
  )
}

const tasks = () => world.taskIds.filter((taskId) => taskId !== '')

describe('a prompt, a key, a credential, the secret and the address of a webhook', () => {
  it('are part of every kind of call of this test', () => {
    expect(tasks().length).toBe(2 + 12 + 9)
    expect(world.answers.length).toBe(12 + 7 + 5)
    const codes = new Set(world.answers.flatMap((text) => /"code":"(\w+)"/.exec(text)?.[1] ?? []))
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

  it('are in no log line of API and worker, at any level [answer-5, hook-23]', () => {
    const logs = world.service.logs()
    expect(logs).toContain('"level":"debug"')
    expect(logs).toContain('webhook try')
    for (const taskId of tasks()) expect(logs).toContain(taskId)
    expect(heldIn(logs)).toEqual([])
  })

  it('are in no metric [answer-5, hook-23]', () => {
    expect(world.metrics).toContain('darkroom_http_requests_total{route="/v1/images/tasks"')
    expect(world.metrics).toContain('darkroom_upstream_calls_total{channel="a-main"')
    expect(world.metrics).toContain('darkroom_webhook_tries_total{outcome="retry"}')
    expect(heldIn(world.metrics)).toEqual([])
  })

  it('are in no Temporal history [answer-5, hook-23]', async () => {
    const { temporal } = world.service.temporal
    let runs = 0
    for (const taskId of tasks()) {
      // A synchronous task whose first call decided has no run.
      const history = await fetchHistory(temporal, taskId)
      if (history === undefined) continue
      runs += 1
      expect(history).toContain(taskId)
      expect(heldIn(history)).toEqual([])
    }
    expect(runs).toBeGreaterThan(12)
  })

  it('are in no row of PostgreSQL, except for the prompt of a task and the address of a webhook', async () => {
    const held = await heldInTables(world.service.databaseUrl, world.secrets)
    expect(held).toEqual(['prompt', 'webhookAddress'])
  })

  it("are in no row of Temporal's databases", async () => {
    const { databaseUrl } = await embeddedStack()
    const taskId = tasks()[0] ?? ''
    for (const name of ['temporal', 'temporal_visibility']) {
      const url = databaseBeside(databaseUrl, name)
      // Closed workflows reach the visibility store a little later.
      await expect.poll(() => heldInTables(url, { taskId })).toEqual(['taskId'])
      expect([name, await heldInTables(url, world.secrets)]).toEqual([name, []])
    }
  })

  it('are in no answer to a client', async () => {
    for (const text of world.answers) {
      expect(heldIn(text, ['upstreamCredential', 'accountKey', 'prompt', 'foreignKey'])).toEqual([])
      expect(text).not.toContain('You said')
    }
    for (const webhookId of world.webhookIds) {
      const deliveries = await world.client.deliveries(webhookId)
      expect(deliveries.length).toBeGreaterThan(0)
      expect(heldIn(JSON.stringify(deliveries))).toEqual([])
    }
  })
})

describe('a process whose WEBHOOK_KEYS lack the key of a webhook', () => {
  it('refuses to start, and names the key [hook-22]', async () => {
    const started = world.service.startApi({ WEBHOOK_KEYS: 'old:0123456789abcdef' })
    await expect(started).rejects.toThrow(/WEBHOOK_KEYS: webhooks need the key new/)
  })

  it('refuses to start without any', async () => {
    const started = world.service.startApi({ WEBHOOK_KEYS: '' })
    await expect(started).rejects.toThrow(/WEBHOOK_KEYS is not set/)
  })
})

describe('a worker that does not know the address of images', () => {
  it('warns that webhooks need it', async () => {
    const worker = await world.service.startWorker({ PUBLIC_URL: '' })
    expect(worker.output()).toContain('PUBLIC_URL is not set')
    await worker.stop()
  })
})

const prompt = 'A lighthouse that no trace may show'
const model = 'familyb-image-2-vip'
const order = (directives = '') => ({ model, action: 'generate', prompt: `${prompt}${directives}` })

/** The spans of a task's trace, once there are `count` of them or the wait for them times out. */
async function traceOf(taskId: string, count: number): Promise<readonly CollectedSpan[]> {
  const traceId = traceIdOf(taskId)
  const spans = () => world.collector.spans().filter((span) => span.traceId === traceId)
  await until('spans', () => (spans().length >= count ? true : undefined)).catch(() => {})
  return spans()
}

async function endedTask(directives?: string, headers = {}): Promise<string> {
  const { task_id: taskId } = await world.client.accepted(order(directives), headers)
  await world.client.ended(taskId)
  return taskId
}

describe('the trace of a task', () => {
  it('connects the request, the workflow, the activity and the upstream call, each within the time of its parent', async () => {
    const spans = await traceOf(await endedTask(' [sim:delay ms=400]'), 4)
    expect(treeOf(spans).split('\n')).toEqual([
      'darkroom-api: POST /v1/images/tasks [202]',
      '  darkroom-worker: workflow imageTask [succeeded]',
      '    darkroom-worker: activity produceImage [1 succeeded]',
      `      darkroom-worker: upstream call [1 b-main ${model} succeeded image 200]`,
      '',
    ])
    const named = (name: string) => spans.find((span) => span.name === name)
    const call = named('upstream call')
    const activity = named('activity produceImage')
    expect(call?.startMs).toBeGreaterThanOrEqual(activity?.startMs ?? Infinity)
    expect(call?.endMs).toBeLessThanOrEqual(activity?.endMs ?? 0)
    expect((call?.endMs ?? 0) - (call?.startMs ?? 0)).toBeGreaterThanOrEqual(400)
  })

  it('connects a synchronous request to its upstream call without a run', async () => {
    const answer = await generate(world.client, { model, prompt })
    const taskId = taskIdOf(answer)
    await answer.arrayBuffer()
    expect(treeOf(await traceOf(taskId, 3)).split('\n')).toEqual([
      'darkroom-api: POST /v1/images/generations [200]',
      '  darkroom-worker: offer produceImage [succeeded]',
      `    darkroom-worker: upstream call [1 b-main ${model} succeeded image 200]`,
      '',
    ])
  })

  it('includes waits, and every request that joins the task by its key', async () => {
    const key = { 'idempotency-key': 'traced' }
    const directive = ' [sim:429 retry-after=2 times=1]'
    const taskId = await endedTask(directive, key)
    await world.client.accepted(order(directive), key)
    expect(treeOf(await traceOf(taskId, 7)).split('\n')).toEqual([
      'darkroom-api: POST /v1/images/tasks [202]',
      '  darkroom-worker: workflow imageTask [succeeded]',
      '    darkroom-worker: activity produceImage [1 Wait]',
      `      darkroom-worker: upstream call [1 b-main ${model} refused rate_limited 429]`,
      '    darkroom-worker: activity produceImage [2 succeeded]',
      `      darkroom-worker: upstream call [2 b-main ${model} succeeded image 200]`,
      '  darkroom-api: POST /v1/images/tasks [202]',
      '',
    ])
  })

  it('marks the spans that failed', async () => {
    const failed = (await traceOf(await endedTask(' [sim:401]'), 5)).filter((span) => span.failed)
    expect(failed.map(({ name }) => name).toSorted()).toEqual([
      'upstream call',
      'workflow imageTask',
    ])
  })

  it('contains only the listed attributes: no prompt, no secret, no address', async () => {
    const taskId = await endedTask()
    const spans = await traceOf(taskId, 4)
    expect([...new Set(spans.flatMap(({ attributes }) => keys(attributes)))].toSorted()).toEqual([
      'darkroom.account_id',
      'darkroom.attempt',
      'darkroom.channel',
      'darkroom.class',
      'darkroom.model',
      'darkroom.reason',
      'darkroom.task_id',
      'http.request.method',
      'http.response.status_code',
      'http.route',
    ])
    const raw = world.collector.raw().toString('latin1')
    expect(raw.includes(taskId)).toBe(true)
    expect([raw.includes(prompt), raw.includes('http://'), heldIn(raw)]).toEqual([false, false, []])
  })
})
