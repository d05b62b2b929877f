import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/runCli.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { entriesOf, moneyOf } from '../support/database/money.ts'
import { calmService } from '../support/service/calmService.ts'
import { closedContext, darkroomJson, runDarkroom } from '../support/service/darkroomCli.ts'
import { upstreamCredentials } from '../support/service/simulatorFile.ts'
import { tempFolder } from '../support/tempFolder.ts'
import type { DeliveryJson } from '../support/webhooks/webhookClient.ts'
import { createWebhookClient } from '../support/webhooks/webhookClient.ts'

type Key = { readonly key_id: string; readonly secret: string }
type ListedKey = {
  readonly key_id: string
  readonly created_at: string
  readonly expires_at: string
}
type Shown = {
  readonly credits: number
  readonly retry_of?: string
  readonly retried_as?: string
  readonly timeline: readonly { readonly at: string; readonly event: string }[]
}
type Retried = { readonly task_id: string; readonly retry_of: string }
type Account = Readonly<Record<'available' | 'held' | 'spent', number>>

const account = 'operated'
// Refusals hold up the other tasks of this model for some seconds, so it is one that few tests use.
const model = 'familyb-image-2-web'
const prompt = 'Operators: what only the client knows'

/** The commands that ran with `--json` and printed nothing but JSON. */
const printedJson = new Set<string>()

const service = await calmService()
await json('account', 'create', account, '--credits', '5000', '--models', model)
const key = await json<Key>('key', 'create', account)
const client = createClient(service.url, key.secret)
const refused = '429 retry-after=1'
await service.simulator.script({ prompt }, [refused, refused, 'moderation'])
/** A task that the upstream refuses twice and then rejects for its content, and one that it rejects at once. */
const failed = await Promise.all([
  failedTask(prompt),
  failedTask('Operators: at once [sim:moderation times=1]'),
])

const darkroom = (...args: string[]) => runDarkroom(args, service.environment)
async function json<Answer>(...args: string[]): Promise<Answer> {
  // `channel check` needs the credentials, which are not in runtime.json.
  const environment = { ...service.environment, ...upstreamCredentials }
  const answer = await darkroomJson<Answer>(args, environment)
  printedJson.add(args.slice(0, args[0] === 'migrate' ? 1 : 2).join(' '))
  return answer
}

async function failedTask(prompt: string): Promise<string> {
  const { task_id } = await client.accepted(generateBody({ model, prompt }))
  expect(await client.ended(task_id)).toMatchObject({ status: 'failed' })
  return task_id
}

describe('a task that failed after two refusals', () => {
  it('is shown by `task show` in order, with times, waits, reasons and credits', async () => {
    const { credits, timeline } = await json<Shown>('task', 'show', failed[0])
    const channel = 'b-main'
    const began = { event: 'attempt_opened', channel, via: 'workflow', worker: expect.any(String) }
    const measured = { latency_ms: expect.any(Number), upstream_request_id: expect.any(String) }
    const attempt = (n: number, outcome: object) => [
      { ...began, attempt: n },
      { event: 'attempt_closed', channel, attempt: n, ...measured, ...outcome },
    ]
    const refusal = { class: 'refused', reason: 'rate_limited', http_status: 429 }
    const waits = { ...refusal, retry_after_ms: 1_000 }
    const events = [
      { event: 'accepted', route: 'images.tasks' },
      { event: 'held', credits },
      { event: 'started' },
      ...attempt(1, waits),
      ...attempt(2, waits),
      ...attempt(3, { class: 'rejected', reason: 'content_policy', http_status: 400 }),
      { event: 'released', credits },
      { event: 'failed', code: 'content_policy_violation', cause: 'rejected' },
    ]
    expect(timeline).toEqual(events.map((event) => ({ at: expect.any(String), ...event })))
    const times = timeline.map(({ at }) => Date.parse(at))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect((times[6] ?? 0) - (times[4] ?? 0)).toBeGreaterThanOrEqual(1_000)
    expect(credits).toBeGreaterThan(0)
  })

  it('is shown as a table without its prompt', async () => {
    const { stdout, exitCode } = await darkroom('task', 'show', failed[0])
    expect(exitCode).toBe(0)
    const [summary = '', story = ''] = stdout.split('\n\n')
    expect(summary).toMatch(/^status +failed$/m)
    const events = story.trim().split('\n')
    const attempts = 'attempt_opened attempt_closed '.repeat(3)
    expect(events.map((line) => line.trim().split(/ {2,}/)[1]).join(' ')).toBe(
      `accepted held started ${attempts}released failed`,
    )
    expect(events[4]).toMatch(/\+\d\.\d{3} s .*class=refused .*retry_after_ms=1000/)
    expect(stdout).not.toContain(prompt)
  })

  it('has a history without the prompt, which replays with and without the service', async () => {
    const [taskId] = failed
    const file = join(tempFolder(), 'history.json')
    const written = await json('task', 'history', taskId, '--out', file)
    expect(written).toMatchObject({ task_id: taskId, file })
    const history = readFileSync(file, 'utf8')
    expect(history).toContain('EVENT_TYPE_WORKFLOW_EXECUTION_FAILED')
    expect(history).toContain('content_policy_violation')
    expect(history).not.toContain(prompt)
    const replayed = await darkroomJson(['task', 'replay', '--file', file], { DATA_DIR: '/none' })
    expect(replayed).toMatchObject({ replays: true })
    expect(await json('task', 'replay', taskId)).toEqual(replayed)
  })

  it('is retried by `task retry` as a new task with its own hold, which succeeds', async () => {
    const [taskId] = failed
    const retried = await json<Retried>('task', 'retry', taskId)
    expect(retried).toEqual({ task_id: expect.any(String), retry_of: taskId })
    expect(await client.ended(retried.task_id)).toMatchObject({ status: 'succeeded' })
    const shown = await json<Shown>('task', 'show', retried.task_id)
    expect(shown.retry_of).toBe(taskId)
    expect(shown.timeline.map(({ event }) => event).join(' ')).toBe(
      'accepted held started attempt_opened stored attempt_closed settled succeeded',
    )
    const { credits } = shown
    expect(await entriesOf(service.pool, retried.task_id)).toEqual([
      { kind: 'hold', credits },
      { kind: 'settle', credits },
    ])
    expect(await moneyOf(service.pool, taskId)).toEqual(['hold', 'release'])
    expect(await json<Shown>('task', 'show', taskId)).toMatchObject({ retried_as: retried.task_id })
    const succeeded = await darkroom('task', 'retry', retried.task_id)
    expect(succeeded).toMatchObject({ exitCode: 1, stdout: '' })
    expect(succeeded.stderr).toContain('only a failed task')
  })

  it('is retried only once when two operators retry it at the same time', async () => {
    const retry = () => darkroom('task', 'retry', failed[1], '--json')
    const runs = await Promise.all([retry(), retry()])
    const [done, refused] = runs.toSorted((a, b) => a.exitCode - b.exitCode)
    expect([done?.exitCode, refused?.exitCode]).toEqual([0, 1])
    const { task_id }: Retried = JSON.parse(done?.stdout ?? '')
    expect(JSON.parse(refused?.stderr ?? '')).toEqual({
      error: { message: expect.stringContaining(task_id) },
    })
    expect(await client.ended(task_id)).toMatchObject({ status: 'succeeded' })
    expect(await service.simulator.calls({ prompt: 'Operators: at once' })).toHaveLength(2)
  })

  it('is listed by account, status and age', async () => {
    const filter = ['--account', account, '--status', 'failed', '--since', '1h']
    const listed = await json<{ task_id: string }[]>('task', 'list', ...filter)
    expect(listed.map(({ task_id }) => task_id).toSorted()).toEqual(failed.toSorted())
  })
})

describe('`task cancel` of a task with its call under way', () => {
  it('exits 1 and cancels nothing; the call finishes and is charged [money-6]', async () => {
    const late = 'Operators: too late [sim:hold]'
    const { task_id } = await client.accepted(generateBody({ model, prompt: late }))
    await service.simulator.waitForCalls(1, { prompt: late })
    const run = await darkroom('task', 'cancel', task_id, '--json')
    expect(run).toMatchObject({ exitCode: 1, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual({ cancelled: false })
    printedJson.add('task cancel')
    await service.simulator.release({ prompt: late })
    expect(await client.ended(task_id)).toMatchObject({ status: 'succeeded' })
    expect(await moneyOf(service.pool, task_id)).toEqual(['hold', 'settle'])
    const over = await darkroom('task', 'cancel', task_id)
    expect(over).toMatchObject({ exitCode: 1, stdout: 'Not cancelled: the task is succeeded.\n' })
  })
})

describe('accounts and keys', () => {
  it('get what the operator gives them, and no other model', async () => {
    const before = await json<Account>('account', 'show', account)
    await json('account', 'topup', account, '10')
    await json('account', 'models', account, model)
    await json('account', 'limit', account, '--requests', 'none')
    const after = await json<Account>('account', 'show', account)
    expect(after).toEqual({ ...before, available: before.available + 10 })
    expect(await json('account', 'list')).toContainEqual(expect.objectContaining({ name: account }))
    const answer = await client.submit(generateBody({ model: 'familya-3-pro-image' }))
    expect(answer.status).toBe(403)
    expect(await errorOf(answer)).toMatchObject({ code: 'access_denied' })
    expect(await json<Account>('account', 'show', account)).toMatchObject({ held: 0 })
  })

  it('a key is refused from the first request after it is revoked; other keys still work [auth-2]', async () => {
    const revoked = await json<Key>('key', 'create', account, '--expires-days', '0.5')
    const send = ({ secret }: Key) =>
      createClient(service.url, secret).submit(generateBody({ model }))
    expect((await send(revoked)).status).toBe(202)
    await json('key', 'budget', revoked.key_id, '5000/day')
    await json('key', 'revoke', revoked.key_id)
    expect((await send(revoked)).status).toBe(401)
    expect((await send(key)).status).toBe(202)
    const listed = await json<ListedKey[]>('key', 'list', account)
    expect(new Set(listed.map(({ key_id }) => key_id))).toEqual(
      new Set([key.key_id, revoked.key_id]),
    )
    const half = listed.find(({ key_id }) => key_id === revoked.key_id)
    const lifeMs = Date.parse(half?.expires_at ?? '') - Date.parse(half?.created_at ?? '')
    expect(Math.round(lifeMs / 60_000)).toBe(12 * 60)
  })
})

describe('every other command', () => {
  /** These stop calls of other tests on this service. Their own test is in test/rough/channels.test.ts. */
  const elsewhere = ['channel pause', 'channel resume']

  function leavesOf(command: Command, path: readonly string[] = []): readonly string[] {
    if (command.commands.length === 0) return [path.join(' ')]
    return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]))
  }

  it('prints only JSON with `--json`, and the ledger verifies [money-2]', async () => {
    const webhooks = createWebhookClient({ url: service.url }, key)
    const { webhook_id: webhook } = await webhooks.register('http://127.0.0.1:9/')
    const tested = await webhooks.call<DeliveryJson>('POST', `/v1/webhooks/${webhook}/test`)
    await json('migrate')
    await json('channel', 'list')
    await json('channel', 'check', 'a-main')
    await json('webhook', 'list', '--account', account)
    await json('webhook', 'deliveries', webhook, '--status', 'pending')
    await json('webhook', 'redeliver', tested.body.delivery_id)
    await json('webhook', 'disable', webhook)
    await json('webhook', 'delete', webhook)
    await json('audit', 'list', '--target', webhook)
    expect(await json('task', 'find', account)).toMatchObject([{ kind: 'account' }])
    expect(await json('ledger', 'verify')).toEqual({ ok: true, violations: [] })
    const program = createProgram(closedContext)
    expect([...printedJson, ...elsewhere].toSorted()).toEqual(leavesOf(program).toSorted())
  })
})
