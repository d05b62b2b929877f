import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyLedger } from '../../../src/store/accounts/verifyLedger.ts'
import { cancelWorkflow } from '../../../src/temporal/runs.ts'
import type { CancelRequest, SeenAnswer } from './cancelRequest.ts'
import { cancelRequest, seenAnswer, sendRequest } from './cancelRequest.ts'
import type { ChaosReport } from './runChaos.ts'
import type { Client } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import { createSeeded } from '../seeded.ts'
import type { TestAccount } from '../service/testAccount.ts'
import type { TestService } from '../service/testService.ts'
import { runParallel, until } from '../timing.ts'

const endMsMax = 180_000

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
}): Promise<ChaosReport> {
  const { service, seed, tasks, parallel, cancelMsMax } = options
  const chance = createSeeded(seed)
  const account = await service.account()
  const requests = Array.from({ length: tasks }, (_, n) => cancelRequest(n, chance, cancelMsMax))
  const broken: string[] = []
  await runParallel(tasks, parallel, async (n) => {
    const request = requests[n]
    if (request === undefined) return
    await run(service, account, request, n).catch((error: unknown) => {
      broken.push(`${request.prompt} (${request.kind}): ${String(error)}`)
    })
  })
  for (const request of requests) broken.push(...(await brokenOf(service, account, request)))
  const violations = await verifyLedger(service.pool)
  const cancels = requests.flatMap((request) => request.cancels)
  const waited = requests.flatMap((request) => request.waited)
  return {
    broken: [...broken, ...violations.map((one) => `the ledger: ${JSON.stringify(one)}`)],
    figures: { seed, cancels: countsOf(cancels), waiters: countsOf(waited) },
  }
}

async function run(
  service: TestService,
  account: TestAccount,
  request: CancelRequest,
  n: number,
): Promise<void> {
  const clients = service.apis.map(({ url }) => createClient(url, account.secret))
  const clientOf = (index: number): Client => {
    const client = clients[index % clients.length]
    if (client === undefined) throw new Error('no API')
    return client
  }
  const callers = Array.from({ length: Math.max(1, request.waiters) }, async (_, waiter) => {
    const answer = await seenAnswer(await sendRequest(clientOf(n + waiter), request))
    if (request.waiters > 0) request.waited.push(answer)
  })
  const taskId = await until('the task', () => taskOf(service, account, request.key))
  request.taskId = taskId
  const cancels = request.cancelsAtMs.map(async (atMs, index) => {
    await sleep(atMs)
    const { url, authorization } = clientOf(index)
    const init = { method: 'POST', headers: { authorization } }
    const answer = await fetch(`${url}/v1/tasks/${taskId}/cancel`, init)
    request.cancels.push(await seenAnswer(answer))
  })
  if (request.runCancelAtMs !== undefined) {
    await sleep(request.runCancelAtMs)
    await cancelWorkflow(service.temporal.temporal, taskId)
  }
  await Promise.all([...callers, ...cancels])
  await clientOf(n).ended(taskId, { limitMs: endMsMax })
}

async function taskOf(
  { pool }: TestService,
  { accountId }: TestAccount,
  key: string,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ taskId: string }>(
    `select task_id as "taskId" from task where account_id = $1 and key_digest = $2`,
    [accountId, createHash('sha256').update(key).digest()],
  )
  return rows[0]?.taskId
}

/** What the database says about a task: its end, its money, its key and its calls. */
type Truth = {
  readonly end: string
  readonly cause: string | null
  readonly money: string
  readonly named: boolean
  readonly tasks: number
  readonly calls: number
  readonly possible: number
}

const truthSql = `
  select coalesce(failure_code, status) as end, failure_cause as cause,
    (select string_agg(kind, ' ' order by entry_id) from ledger l where l.task_id = t.task_id) as money,
    exists (select from idempotency_key k where k.task_id = t.task_id) as named,
    (select count(*)::int from task o
      where o.account_id = t.account_id and o.key_digest = t.key_digest) as tasks,
    (select count(*)::int from attempt a where a.task_id = t.task_id) as calls,
    (select count(*)::int from attempt a where a.task_id = t.task_id
      and (class is null or class in ('unknown', 'succeeded'))) as possible
  from task t where t.task_id = $1`

async function brokenOf(
  service: TestService,
  account: TestAccount,
  request: CancelRequest,
): Promise<readonly string[]> {
  const { taskId = '', prompt } = request
  const { rows } = await service.pool.query<Truth>(truthSql, [taskId])
  const [truth] = rows
  if (truth === undefined) return [`${prompt} has no task`]
  const broken = [...brokenEnd(truth), ...brokenWaits(request, truth)]
  const record = await (await createClient(service.url, account.secret).lookup(taskId)).json()
  for (const answer of request.cancels) broken.push(...brokenCancel(answer, truth, record))
  const firstCancelled = request.cancels.findIndex(({ status }) => status === 200)
  const later = firstCancelled < 0 ? [] : request.cancels.slice(firstCancelled)
  if (later.some(({ status }) => status !== 200)) broken.push('a later cancel was refused')
  return broken.map((what) => `${prompt} (${request.kind}): ${what}: ${JSON.stringify(truth)}`)
}

/** A cancelled task did no work, was released and kept its key; an image was charged once. */
function* brokenEnd({ end, cause, money, named, tasks, possible }: Truth): Generator<string> {
  const charged = end === 'succeeded'
  if (money !== `hold ${charged ? 'settle' : 'release'}`) yield 'the ledger differs from the end'
  if (end !== 'cancelled') return
  if (cause !== 'cancelled') yield 'the cancel was not recorded as asked for'
  if (possible > 0) yield 'cancelled although work was possible'
  if (!named || tasks > 1) yield 'the key did not stay with the cancelled task'
}

function* brokenCancel(answer: SeenAnswer, truth: Truth, record: unknown): Generator<string> {
  const { status, body, credits } = answer
  switch (status) {
    case 200:
      if (truth.end !== 'cancelled') yield 'a cancel was confirmed, and the task ended otherwise'
      if (credits !== '0') yield `X-Credits-Charged is ${credits}`
      if (JSON.stringify(body) !== JSON.stringify(record)) yield 'the answer is not the record'
      return
    case 409: {
      const { error } = Object(body)
      if (error?.code !== 'task_not_cancellable') yield `409 with the code ${error?.code}`
      const says = String(error?.message)
      if (/already succeeded/.test(says) !== (truth.end === 'succeeded' && /already/.test(says))) {
        yield `the message says "${says}"`
      }
      if (/already failed/.test(says) && ['succeeded', 'cancelled'].includes(truth.end)) {
        yield `the message says "${says}"`
      }
      if (!/already/.test(says) && truth.calls === 0) yield 'refused although no call was made'
      return
    }
    default:
      yield `a cancel got ${status}`
  }
}

/** Every caller that waits for a cancelled task gets the same final answer, and only those do. */
function* brokenWaits({ waited }: CancelRequest, { end }: Truth): Generator<string> {
  for (const { status, body, retry } of waited) {
    const code = status === 200 ? undefined : Object(body).error?.code
    if ((code === 'cancelled') !== (end === 'cancelled')) yield `a waiter got ${status} ${code}`
    if (code === 'cancelled' && (status !== 500 || retry !== 'false')) {
      yield `a waiter of the cancelled task got ${status} with x-should-retry ${retry}`
    }
    if (end === 'succeeded' && status !== 200) yield `a waiter of an image got ${status} ${code}`
  }
}

function countsOf(answers: readonly SeenAnswer[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const name = status === 200 ? '200' : `${status} ${Object(body).error?.code}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
