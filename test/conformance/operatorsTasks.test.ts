import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskFailureCode } from '../../src/domain/failure.ts'
import { taskIdOf } from '../../src/domain/ids.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { entriesOf, moneyOf } from '../support/database/money.ts'
import { darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

type Shown = {
  readonly credits: number
  readonly retry_of?: string
  readonly retried_as?: string
  readonly timeline: readonly { readonly at: string; readonly event: string }[]
}
type Retried = { readonly task_id: string; readonly retry_of: string }

let service: CalmService
let account: TestAccount
let client: Client
beforeAll(async () => {
  service = await calmService()
  account = await service.account()
  client = createClient(service.url, account.secret)
}, stackStartMsMax)

const darkroom = (...args: string[]) => runDarkroom(args, service.environment)
const json = <Answer>(...args: string[]) => darkroomJson<Answer>(args, service.environment)

async function failedTask(prompt: string): Promise<string> {
  const { task_id } = await client.accepted(generateBody({ prompt }))
  expect(await client.ended(task_id, { everyMs: 50 })).toMatchObject({ status: 'failed' })
  return task_id
}

describe('a task that failed after two refusals', () => {
  let taskId: string
  beforeAll(async () => {
    const refused = '429 retry-after=1'
    await service.simulator.script({ prompt: 'Twice refused' }, [refused, refused, 'moderation'])
    taskId = await failedTask('Twice refused')
  })

  it('is shown by `task show` in order, with times, waits, reasons and credits', async () => {
    const { credits, timeline } = await json<Shown>('task', 'show', taskId)
    const opened = (attempt: number) => ({
      event: 'attempt_opened',
      attempt,
      channel: 'b-main',
      via: 'workflow',
      worker: expect.any(String),
    })
    const closed = (attempt: number, outcome: object) => ({
      event: 'attempt_closed',
      attempt,
      channel: 'b-main',
      latency_ms: expect.any(Number),
      upstream_request_id: expect.any(String),
      ...outcome,
    })
    const refused = { class: 'refused', reason: 'rate_limited', http_status: 429 }
    const rejected = { class: 'rejected', reason: 'content_policy', http_status: 400 }
    const events = [
      { event: 'accepted', route: 'images.tasks' },
      { event: 'held', credits },
      { event: 'started' },
      opened(1),
      closed(1, { ...refused, retry_after_ms: 1_000 }),
      opened(2),
      closed(2, { ...refused, retry_after_ms: 1_000 }),
      opened(3),
      closed(3, rejected),
      { event: 'released', credits },
      { event: 'failed', code: 'content_policy_violation', cause: 'rejected' },
    ]
    expect(timeline).toEqual(events.map((event) => ({ at: expect.any(String), ...event })))
    const times = timeline.map(({ at }) => Date.parse(at))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const [first = 0, second = 0] = [4, 6].map((index) => times[index])
    expect(second - first).toBeGreaterThanOrEqual(1_000)
    expect(credits).toBeGreaterThan(0)
  })

  it('is shown as a table without its prompt', async () => {
    const { stdout, exitCode } = await darkroom('task', 'show', taskId)
    expect(exitCode).toBe(0)
    const [summary = '', story = ''] = stdout.split('\n\n')
    expect(summary).toMatch(/^status +failed$/m)
    const events = story.trim().split('\n')
    expect(events.map((line) => line.trim().split(/ {2,}/)[1])).toEqual([
      'accepted',
      'held',
      'started',
      ...Array.from({ length: 3 }, () => ['attempt_opened', 'attempt_closed']).flat(),
      'released',
      'failed',
    ])
    expect(events[4]).toMatch(/\+\d\.\d{3} s .*class=refused .*retry_after_ms=1000/)
    expect(stdout).not.toContain('Twice refused')
  })

  it('is retried by `task retry` as a new task with its own hold, which succeeds', async () => {
    const retried = await json<Retried>('task', 'retry', taskId)
    expect(retried).toEqual({ task_id: expect.any(String), retry_of: taskId })
    expect(await client.ended(retried.task_id)).toMatchObject({ status: 'succeeded' })
    const shown = await json<Shown>('task', 'show', retried.task_id)
    expect(shown.retry_of).toBe(taskId)
    expect(await json<Shown>('task', 'show', taskId)).toMatchObject({
      retried_as: retried.task_id,
    })
    expect(shown.timeline.map(({ event }) => event)).toEqual([
      'accepted',
      'held',
      'started',
      'attempt_opened',
      'stored',
      'attempt_closed',
      'settled',
      'succeeded',
    ])
    const { credits } = shown
    expect(await entriesOf(service.pool, retried.task_id)).toEqual([
      { kind: 'hold', credits },
      { kind: 'settle', credits },
    ])
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])

    const again = await darkroom('task', 'retry', taskId)
    expect(again).toMatchObject({ exitCode: 1, stdout: '' })
    expect(again.stderr).toContain(retried.task_id)
    const succeeded = await darkroom('task', 'retry', retried.task_id)
    expect(succeeded.exitCode).toBe(1)
    expect(succeeded.stderr).toContain('only a failed task')
  })

  it('is retried only once when two operators retry it at the same time', async () => {
    const failed = await failedTask('At once [sim:moderation times=1]')
    const runs = await Promise.all([1, 2].map(() => darkroom('task', 'retry', failed, '--json')))
    expect(runs.map(({ exitCode }) => exitCode).toSorted((a, b) => a - b)).toEqual([0, 1])
    const done: Retried = JSON.parse(runs.find(({ exitCode }) => exitCode === 0)?.stdout ?? '')
    const refused = runs.find(({ exitCode }) => exitCode === 1)
    expect(JSON.parse(refused?.stderr ?? '')).toEqual({
      error: { message: expect.stringContaining(done.task_id) },
    })
    expect(await client.ended(done.task_id)).toMatchObject({ status: 'succeeded' })
    expect(await service.simulator.calls({ prompt: 'At once' })).toHaveLength(2)
  })
})

describe('twenty tasks that failed with four failure codes', () => {
  const causes: readonly (readonly [fault: string, code: TaskFailureCode])[] = [
    ['moderation times=1', 'content_policy_violation'],
    ['400 times=1', 'upstream_invalid_request'],
    ['500 times=3', 'upstream_error'],
    ['quota times=1', 'rate_limit_exceeded'],
  ]
  const model = 'familya-3-pro-image'
  const key = 'order 2026/17 ü'
  const failed = new Map<string, readonly string[]>()
  let keyedId: string
  let failing: TestAccount

  beforeAll(async () => {
    failing = await service.account()
    const sender = createClient(service.url, failing.secret)
    const send = async (prompt: string, headers = {}) => {
      const { task_id } = await sender.accepted(generateBody({ model, prompt }), headers)
      return task_id
    }
    const bytes = Buffer.from(key, 'utf8').toString('latin1')
    const all = causes.map(async ([fault, code]) => {
      const sent = Array.from({ length: 5 }, (_, index) => send(`${code} ${index} [sim:${fault}]`))
      failed.set(code, await Promise.all(sent))
    })
    await Promise.all(all)
    keyedId = await send('Good', { 'idempotency-key': bytes })
    const ends = [...failed.values()].flat().map((taskId) => sender.ended(taskId))
    await Promise.all([...ends, sender.ended(keyedId)])
  })

  /** Returns task ids by a visibility query. Waits up to 10 s: Temporal indexes a run some moments later. */
  async function found(query: string, count: number): Promise<readonly string[]> {
    const { client: temporal } = service.temporal.temporal
    const endsAtMs = performance.now() + 10_000
    for (;;) {
      const ids: string[] = []
      for await (const run of temporal.workflow.list({ query })) ids.push(taskIdOf(run.workflowId))
      if (ids.length >= count || performance.now() > endsAtMs) return ids.toSorted()
      await sleep(100)
    }
  }

  it.each(causes)('are counted in Temporal by failure code: %s is %s', async (_fault, code) => {
    const query =
      `ExecutionStatus = 'Failed' AND DarkroomFailureCode = '${code}'` +
      ` AND DarkroomAccount = '${failing.accountId}'`
    expect(await found(query, 5)).toEqual(failed.get(code)?.toSorted())
    const { count } = await service.temporal.temporal.client.workflow.count(query)
    expect(count).toBe(5)
  })

  it('are the only failed runs of their account, model and channel in Temporal', async () => {
    const mine = `DarkroomAccount = '${failing.accountId}' AND DarkroomModel = '${model}'`
    const all = [...failed.values()].flat().toSorted()
    expect(await found(`${mine} AND ExecutionStatus = 'Failed'`, 20)).toEqual(all)
    expect(await found(`${mine} AND ExecutionStatus = 'Completed'`, 1)).toEqual([keyedId])
    const channel = `DarkroomChannel = 'a-main' AND ExecutionStatus = 'Failed'`
    expect(await found(channel, 20)).toEqual(all)
  })

  it('have a run that Temporal finds by the digest of its idempotency key', async () => {
    const digest = createHash('sha256').update(key, 'utf8').digest('hex')
    expect(await found(`DarkroomKeyDigest = '${digest}'`, 1)).toEqual([keyedId])
  })

  it('are retried together by failure code and age, after a dry run that holds nothing', async () => {
    const code = 'upstream_invalid_request'
    const many = ['task', 'retry', '--code', code, '--since', '1h']
    const wanted = failed.get(code)?.toSorted()
    const dry = await json<{ would_retry: string[] }>(...many, '--dry-run')
    expect(dry.would_retry.toSorted()).toEqual(wanted)
    const held = await json<{ held: number }>('account', 'show', failing.name)
    expect(held.held).toBe(0)
    const { retried, refused } = await json<{ retried: Retried[]; refused: unknown[] }>(...many)
    expect(retried.map(({ retry_of }) => retry_of).toSorted()).toEqual(wanted)
    expect(refused).toEqual([])
    const sender = createClient(service.url, failing.secret)
    const ends = await Promise.all(retried.map(({ task_id }) => sender.ended(task_id)))
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(await json(...many)).toEqual({ retried: [], refused: [] })
    expect(await json('task', 'retry', '--code', 'cancelled', '--since', '1h')).toEqual({
      retried: [],
      refused: [],
    })
  })
})

describe('the ledger after all tests', () => {
  it('verifies', async () => {
    expect(await json('ledger', 'verify')).toEqual({ ok: true, violations: [] })
  })
})
