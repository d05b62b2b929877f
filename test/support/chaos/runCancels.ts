import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import type { Answer, KeyedRequest } from './chaosRequest.ts'
import { codeOf, pickKind, sendRequest } from './chaosRequest.ts'
import type { Client } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import type { Seeded } from '../seeded.ts'
import { createSeeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'
import { runParallel, until } from '../timing.ts'

const endMsMax = 180_000

/** One request under one key, the cancels of its task, and what every caller got. */
type CancelRequest = KeyedRequest & {
  /** Synchronous calls that wait for the task at the same time. */
  readonly waiters: number
  /** When the cancels are sent, counted from the moment when the task exists. */
  readonly cancelsAtMs: readonly number[]
  /** `isLater`: it was sent after another cancel had been confirmed. */
  readonly cancels: (Answer & { readonly isLater: boolean })[]
  readonly waited: Answer[]
}

/** What the upstream does. Most calls wait or are refused first, so that many cancels find no call under way. */
const faults = [
  'ok',
  'delay ms=400',
  '429 retry-after=1 times=1',
  '429 retry-after=1 times=2',
  '500 times=1',
  'reset times=1',
  'moderation',
  'bad-base64 times=1',
] as const

function cancelRequest(index: number, chance: Seeded, cancelMsMax: number): CancelRequest {
  const route = pickKind(chance)
  const cancels = chance.chance(0.15) ? 0 : chance.between(1, 3)
  return {
    ...route,
    prompt: `cancel ${index}; [sim:${chance.pick(faults)}]`,
    key: `cancel-${index}`,
    waiters: route.isSync ? chance.between(1, 3) : 0,
    cancelsAtMs: Array.from({ length: cancels }, () => chance.between(0, cancelMsMax)),
    cancels: [],
    waited: [],
  }
}

/**
 * Sends requests of every kind, cancels their tasks at random moments while synchronous callers wait for them,
 * and compares every answer with the ledger and the task's row. `broken` has one line per difference.
 */
export async function runCancels(options: {
  readonly service: TestService
  readonly seed: number
  readonly tasks: number
  /** Requests that are under way at the same time. */
  readonly parallel: number
  /** The latest moment of a cancel, counted from the moment when its task exists. */
  readonly cancelMsMax: number
}): Promise<{ readonly broken: readonly string[]; readonly figures: object }> {
  const { service, seed, tasks, parallel, cancelMsMax } = options
  const chance = createSeeded(seed)
  const { secret } = await service.account()
  const clients = service.apis.map(({ url }) => createClient(url, secret))
  const requests = Array.from({ length: tasks }, (_, n) => cancelRequest(n, chance, cancelMsMax))
  const broken: string[] = []
  await runParallel(tasks, parallel, async (n) => {
    const request = requests[n]
    if (request === undefined) return
    const found = await run(service, [...clients.slice(n % 2), ...clients], request).catch(
      (error: unknown) => [String(error)],
    )
    broken.push(...found.map((what) => `${request.prompt} (${request.kind}): ${what}`))
  })
  const violations = await verifyLedger(service.pool)
  const nameOf = (answer: Answer) => `${answer.status} ${codeOf(answer) ?? ''}`
  const seen = (answers: readonly Answer[]) =>
    Object.fromEntries([...Map.groupBy(answers, nameOf)].map(([name, all]) => [name, all.length]))
  return {
    broken: [...broken, ...violations.map((one) => `the ledger: ${JSON.stringify(one)}`)],
    figures: {
      seed,
      cancels: seen(requests.flatMap(({ cancels }) => cancels)),
      waiters: seen(requests.flatMap(({ waited }) => waited)),
    },
  }
}

/** Sends one request and its cancels, in turn to each of the clients. Returns what is wrong with their answers. */
async function run(
  service: TestService,
  clients: readonly Client[],
  request: CancelRequest,
): Promise<readonly string[]> {
  const { key, waiters, cancelsAtMs } = request
  const [client] = clients
  if (client === undefined) throw new Error('no API')
  const clientOf = (index: number) => clients[index % clients.length] ?? client
  const callers = Array.from({ length: Math.max(1, waiters) }, async (_, waiter) => {
    const answer = await sendRequest(clientOf(waiter), request, endMsMax)
    if (waiters > 0 && answer !== 'none') request.waited.push(answer)
  })
  const taskId = await until('the task', async () => (await truthOf(service, key))?.taskId)
  const cancels = cancelsAtMs.map(async (atMs, index) => {
    await sleep(atMs)
    const { url, authorization } = clientOf(index)
    const init = { method: 'POST', headers: { authorization } }
    const isLater = request.cancels.some(({ status }) => status === 200)
    const answer = await fetch(`${url}/v1/tasks/${taskId}/cancel`, init)
    const { status, headers } = answer
    request.cancels.push({ status, headers, text: await answer.text(), isLater })
  })
  await Promise.all([...callers, ...cancels])
  await client.ended(taskId, { limitMs: endMsMax })
  const truth = await truthOf(service, key)
  if (truth === undefined) return ['the task is gone']
  const record: unknown = await (await client.lookup(taskId)).json()
  const found = [
    ...brokenEnd(truth),
    ...brokenWaits(request, truth),
    ...request.cancels.flatMap((answer) => [...brokenCancel(answer, truth, record)]),
  ]
  if (request.cancels.some(({ status, isLater }) => isLater && status !== 200)) {
    found.push('a later cancel was refused')
  }
  return found.map((what) => `${what}: ${JSON.stringify(truth)}`)
}

/** What the database says about the newest task of a key: its end, its money, its key and its calls. */
type Truth = {
  readonly taskId: string
  readonly end: string
  readonly cause: string | null
  readonly money: string
  readonly named: boolean
  readonly tasks: number
  readonly calls: number
  readonly possible: number
}

const truthSql = `
  select task_id as "taskId", coalesce(failure_code, status) as end, failure_cause as cause,
    (select string_agg(kind, ' ' order by entry_id) from ledger l where l.task_id = t.task_id) as money,
    exists (select from idempotency_key k where k.task_id = t.task_id) as named,
    (select count(*)::int from task o where o.key_digest = t.key_digest) as tasks,
    (select count(*)::int from attempt a where a.task_id = t.task_id) as calls,
    (select count(*)::int from attempt a where a.task_id = t.task_id
      and (class is null or class in ('unknown', 'succeeded'))) as possible
  from task t where key_digest = $1 order by created_at desc limit 1`

async function truthOf({ pool }: TestService, key: string): Promise<Truth | undefined> {
  const { rows } = await pool.query<Truth>(truthSql, [createHash('sha256').update(key).digest()])
  return rows[0]
}

/** A cancelled task did no work, was released and kept its key; an image was charged once, and refunded at most once. */
function* brokenEnd({ end, cause, money, named, tasks, possible }: Truth): Generator<string> {
  const charged = end === 'succeeded'
  const isRight = (charged ? /^hold settle( refund)?$/ : /^hold release$/).test(money)
  if (!isRight) yield 'the ledger differs from the end'
  if (end !== 'cancelled') return
  if (cause !== 'cancelled') yield 'the cancel was not recorded as asked for'
  if (possible > 0) yield 'cancelled although work was possible'
  if (!named || tasks > 1) yield 'the key did not stay with the cancelled task'
}

/** A confirmed cancel is the record of a cancelled task. A refused one had a call, or came too late. */
function* brokenCancel(answer: Answer, truth: Truth, record: unknown): Generator<string> {
  const { status, headers, text } = answer
  if (status === 200) {
    if (truth.end !== 'cancelled') yield 'a cancel was confirmed, and the task ended otherwise'
    if (headers.get('x-credits-charged') !== '0') yield 'a confirmed cancel costs'
    if (text !== JSON.stringify(record)) yield 'the answer is not the record'
    return
  }
  const { code, message } = Object(JSON.parse(text)).error ?? {}
  if (status !== 409 || code !== 'task_not_cancellable') yield `a cancel got ${status} ${code}`
  const [, said] = /already (succeeded|failed)/.exec(String(message)) ?? []
  const happened = truth.end === 'succeeded' ? 'succeeded' : 'failed'
  if (truth.end === 'cancelled' && said !== undefined) yield `a cancelled task has "${message}"`
  if (said !== undefined && said !== happened) yield `the message says "${message}"`
  if (said === undefined && truth.calls === 0) yield 'refused although no call was made'
}

/** Every caller that waits for a cancelled task gets the same final answer, and only those do. */
function* brokenWaits({ waited }: CancelRequest, { end }: Truth): Generator<string> {
  for (const answer of waited) {
    const { status } = answer
    const code = codeOf(answer)
    const retry = answer.headers.get('x-should-retry')
    if ((code === 'cancelled') !== (end === 'cancelled')) yield `a waiter got ${status} ${code}`
    if (code === 'cancelled' && (status !== 500 || retry !== 'false')) {
      yield `a waiter of the cancelled task got ${status} with x-should-retry ${retry}`
    }
    if (end === 'succeeded' && status !== 200) yield `a waiter of an image got ${status} ${code}`
  }
}
