import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { traceIdOf } from '../../src/telemetry/tracing.ts'
import { createClient } from '../support/clients/client.ts'
import { generate, taskIdOf } from '../support/clients/syncCalls.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { CollectedSpan } from '../support/telemetry/traceCollector.ts'
import { startTraceCollector, treeOf } from '../support/telemetry/traceCollector.ts'
import { until } from '../support/timing.ts'

let collector: Awaited<ReturnType<typeof startTraceCollector>>
let client: ReturnType<typeof createClient>

beforeAll(async () => {
  collector = await startTraceCollector()
  const service = await startTestService({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  client = createClient(service.url, (await service.account()).secret)
  return async () => {
    await service.stop()
    await collector.close()
  }
}, stackStartMsMax)

const prompt = 'A lighthouse that no trace may show'
const model = 'familyb-image-2-vip'
const order = (directives = '') => ({ model, action: 'generate', prompt: `${prompt}${directives}` })

/** The spans of a task's trace, once there are `count` of them or the wait for them times out. */
async function traceOf(taskId: string, count: number): Promise<readonly CollectedSpan[]> {
  const spans = () => collector.spans().filter(({ traceId }) => traceId === traceIdOf(taskId))
  await until('spans', () => (spans().length >= count ? true : undefined)).catch(() => {})
  return spans()
}

describe('the trace of a task', () => {
  it('connects the request, the workflow, the activity and the upstream call', async () => {
    const { task_id: taskId } = await client.accepted(order())
    await client.ended(taskId)
    expect(treeOf(await traceOf(taskId, 4))).toBe(
      [
        'darkroom-api: POST /v1/images/tasks [202]',
        '  darkroom-worker: workflow imageTask [succeeded]',
        '    darkroom-worker: activity produceImage [1 succeeded]',
        `      darkroom-worker: upstream call [1 b-main ${model} succeeded image 200]`,
        '',
      ].join('\n'),
    )
  })

  it('connects a synchronous request to its upstream call without a run', async () => {
    const answer = await generate(client, { model, prompt })
    const taskId = taskIdOf(answer)
    await answer.arrayBuffer()
    expect(treeOf(await traceOf(taskId, 3))).toBe(
      [
        'darkroom-api: POST /v1/images/generations [200]',
        '  darkroom-worker: offer produceImage [succeeded]',
        `    darkroom-worker: upstream call [1 b-main ${model} succeeded image 200]`,
        '',
      ].join('\n'),
    )
  })

  it('includes waits, and every request that joins the task by its key', async () => {
    const key = { 'idempotency-key': 'traced' }
    const body = order(' [sim:429 retry-after=2 times=1]')
    const { task_id: taskId } = await client.accepted(body, key)
    await client.ended(taskId)
    await client.accepted(body, key)
    expect(treeOf(await traceOf(taskId, 7))).toBe(
      [
        'darkroom-api: POST /v1/images/tasks [202]',
        '  darkroom-worker: workflow imageTask [succeeded]',
        '    darkroom-worker: activity produceImage [1 Wait]',
        `      darkroom-worker: upstream call [1 b-main ${model} refused rate_limited 429]`,
        '    darkroom-worker: activity produceImage [2 succeeded]',
        `      darkroom-worker: upstream call [2 b-main ${model} succeeded image 200]`,
        '  darkroom-api: POST /v1/images/tasks [202]',
        '',
      ].join('\n'),
    )
  })

  it('marks the spans that failed', async () => {
    const { task_id: taskId } = await client.accepted(order(' [sim:401]'))
    await client.ended(taskId)
    const failed = (await traceOf(taskId, 5)).filter((span) => span.failed)
    expect(failed.map(({ name }) => name).toSorted()).toEqual([
      'upstream call',
      'workflow imageTask',
    ])
  })

  it('shows each span within the time of its parent', async () => {
    const { task_id: taskId } = await client.accepted(order(' [sim:delay ms=400]'))
    await client.ended(taskId)
    const spans = await traceOf(taskId, 4)
    const named = (name: string) => spans.find((span) => span.name === name)
    const call = named('upstream call')
    const activity = named('activity produceImage')
    expect(call?.startMs).toBeGreaterThanOrEqual(activity?.startMs ?? Infinity)
    expect(call?.endMs).toBeLessThanOrEqual(activity?.endMs ?? 0)
    expect((call?.endMs ?? 0) - (call?.startMs ?? 0)).toBeGreaterThanOrEqual(400)
  })

  it('contains only the listed attributes: no prompt, no secret, no address', async () => {
    const { task_id: taskId } = await client.accepted(order())
    await client.ended(taskId)
    const spans = await traceOf(taskId, 4)
    expect(
      [...new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)))].toSorted(),
    ).toEqual([
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
    const raw = collector.raw()
    expect(raw.includes(taskId)).toBe(true)
    for (const secret of [
      prompt,
      client.authorization.slice(7),
      'upstream-credential',
      'http://',
    ]) {
      expect(raw.includes(secret)).toBe(false)
    }
  })
})

describe('a process without a collector', () => {
  it('does not load the tracing libraries', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({ resolve: (name, context, next) => {
        const found = next(name, context)
        loaded.push(found.url)
        return found
      } })
      const { openTracing } = await import('./src/wiring/processTelemetry.ts')
      await import('./src/wiring/api.ts')
      await import('./src/wiring/worker.ts')
      const ofTraces = () => loaded.filter((url) => /@opentelemetry.(sdk|exporter)/.test(url)).length
      await openTracing({ otlpEndpoint: undefined }, 'worker')
      const off = ofTraces()
      await openTracing({ otlpEndpoint: 'http://127.0.0.1:9' }, 'worker')
      console.log(JSON.stringify({ off, on: ofTraces() > 0 }))
      process.exit()`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: fileURLToPath(new URL('../../', import.meta.url)) },
    )
    expect(JSON.parse(stdout)).toEqual({ off: 0, on: true })
  })
})
