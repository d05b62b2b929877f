import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { fetchHistory } from '../../src/temporal/runs.ts'
import { embeddedStack } from '../support/stack/embeddedStack.ts'
import { databaseBeside, formsOf, heldInTables } from '../support/telemetry/databaseSearch.ts'
import { openSecretsWorld } from '../support/telemetry/secretsWorld.ts'
import type { CollectedSpan } from '../support/telemetry/traceCollector.ts'
import { treeOf } from '../support/telemetry/traceCollector.ts'
import { until } from '../support/timing.ts'

const world = await openSecretsWorld()
afterAll(() => world.stop())

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
})

const prompt = 'A lighthouse that no trace may show'
const model = 'familyb-image-2-vip'
const order = (directives = '') => ({ model, action: 'generate', prompt: `${prompt}${directives}` })

/** The spans of a task's trace. They come together, a moment after the task's end. */
async function traceOf(taskId: string): Promise<readonly CollectedSpan[]> {
  return until('the trace', () => {
    const spans = world.collector.spans()
    const root = spans.find(({ attributes }) => attributes['darkroom.task_id'] === taskId)
    return root && spans.filter(({ traceId }) => traceId === root.traceId)
  })
}

async function endedTask(directives?: string, headers = {}): Promise<string> {
  const { task_id: taskId } = await world.client.accepted(order(directives), headers)
  await world.client.ended(taskId)
  return taskId
}

const lines = (tree: string) => tree.trim().split('\n')

describe('the trace of a task', () => {
  it('has the waits and the calls of the task, each within its time, and its events', async () => {
    const spans = await traceOf(await endedTask(' [sim:delay ms=400]'))
    expect(lines(treeOf(spans))).toEqual([
      `darkroom-worker: image task [${model} succeeded]`,
      '  darkroom-worker: wait []',
      `  darkroom-worker: upstream call [1 b-main ${model} succeeded image 200]`,
    ])
    const [root, wait, call] = ['image task', 'wait', 'upstream call'].map((name) =>
      spans.find((span) => span.name === name),
    )
    expect(wait).toMatchObject({ startMs: root?.startMs, endMs: call?.startMs })
    expect(call?.endMs).toBe(root?.endMs)
    expect((call?.endMs ?? 0) - (call?.startMs ?? 0)).toBeGreaterThanOrEqual(400)
    expect(root?.events).toEqual(['accepted', 'held', 'started', 'stored', 'settled', 'succeeded'])
    expect(call?.attributes['darkroom.via']).toBe('workflow')
  })

  it('continues the trace of the client that made the task, and of no client that joins it', async () => {
    const [traceId, parentId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
    const key = { 'idempotency-key': 'traced' }
    const traceparent = `00-${traceId}-${parentId}-00`
    const { task_id: taskId } = await world.client.accepted(order(' [sim:delay ms=300]'), {
      ...key,
      traceparent,
    })
    const joined = await world.client.accepted(order(' [sim:delay ms=300]'), {
      ...key,
      traceparent: traceparent.replaceAll('0', '1'),
    })
    expect(joined.task_id).toBe(taskId)
    await world.client.ended(taskId)
    const spans = await traceOf(taskId)
    expect([...new Set(spans.map((span) => span.traceId))]).toEqual([traceId])
    expect(lines(treeOf(spans, parentId))[0]).toContain('image task')
    expect(
      world.collector
        .spans()
        .filter(({ name, traceId: id }) => name === 'image task' && id === traceId),
    ).toHaveLength(1)
  })

  it('is exported by the API for a task that it cancelled, and is no failure', async () => {
    // A refusal holds up all tasks of its model for a minute, so no other test may use this one.
    const refused = { ...order(' [sim:429 retry-after=60]'), model: 'familyb-image-2-web' }
    const { task_id: taskId } = await world.client.accepted(refused)
    const { url, authorization } = world.client
    const path = `${url}/v1/tasks/${taskId}/cancel`
    await until('the cancel', async () => {
      const answer = await fetch(path, { method: 'POST', headers: { authorization } })
      await answer.arrayBuffer()
      return answer.ok ? true : undefined
    })
    const spans = await traceOf(taskId)
    expect(lines(treeOf(spans))[0]).toBe(`darkroom-api: image task [${refused.model} cancelled]`)
    expect(spans.filter((span) => span.failed)).toEqual([])
  })

  it('contains only the listed attributes: no prompt, no secret, no address', async () => {
    const taskId = await endedTask()
    const spans = await traceOf(taskId)
    expect([...new Set(spans.flatMap(({ attributes }) => keys(attributes)))].toSorted()).toEqual([
      'darkroom.account_id',
      'darkroom.attempt',
      'darkroom.channel',
      'darkroom.class',
      'darkroom.model',
      'darkroom.reason',
      'darkroom.route',
      'darkroom.task_id',
      'darkroom.via',
      'http.response.status_code',
    ])
    const raw = world.collector.raw().toString('latin1')
    expect(raw.includes(taskId)).toBe(true)
    expect([raw.includes(prompt), raw.includes('http://'), heldIn(raw)]).toEqual([false, false, []])
  })
})
