import { setTimeout as sleep } from 'node:timers/promises'
import type { ChaosAnswer, ChaosRequest } from './chaosRequest.ts'
import type { TaskRecord } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import type { Seeded } from '../seeded.ts'

const answerMsMax = 5_000
const retryMs = 300
const pollMs = 200

export type ChaosClientDeps = {
  /** Returns the base URL of an API that should be running. */
  readonly url: () => string
  readonly chance: Seeded
  /** Aborts when the time is over. The client then stops, also when its task has not ended. */
  readonly over: AbortSignal
}

/** Submits with an idempotency key until it gets an answer, then polls until the task ends. */
export async function runChaosClient(deps: ChaosClientDeps, request: ChaosRequest): Promise<void> {
  const copies = Array.from({ length: request.copies }, () =>
    submitUntilAnswered(deps, request, request.body, request.answers),
  )
  await Promise.all(copies)
  request.taskId = acceptedId(request.answers)
  if (request.taskId === undefined) return
  if (request.conflicts) {
    const changed = { ...request.body, prompt: `${request.tag} changed` }
    await submitUntilAnswered(deps, request, changed, request.conflictAnswers)
  }
  await pollToTheEnd(deps, request, request.taskId)
}

function acceptedId(answers: readonly ChaosAnswer[]): string | undefined {
  const accepted = answers.find((answer) => answer.kind === 'answer' && answer.status === 202)
  return accepted?.kind === 'answer' ? Object(JSON.parse(accepted.text)).task_id : undefined
}

async function submitUntilAnswered(
  deps: ChaosClientDeps,
  request: ChaosRequest,
  body: object,
  answers: ChaosAnswer[],
): Promise<void> {
  while (!deps.over.aborted) {
    const answer = await submitOnce(deps, request, body)
    answers.push(answer)
    const again = answer.kind === 'none' || answer.status >= 500 || answer.status === 429
    if (!again) return
    await sleep(retryMs)
  }
}

async function submitOnce(
  deps: ChaosClientDeps,
  { account, key }: ChaosRequest,
  body: object,
): Promise<ChaosAnswer> {
  const client = createClient(deps.url(), account.secret)
  try {
    const answer = await withTimeout(client.submit(body, { 'idempotency-key': key }))
    const text = await withTimeout(answer.text())
    const replayed = answer.headers.get('idempotent-replayed')
    return { kind: 'answer', status: answer.status, replayed, text }
  } catch {
    return { kind: 'none' }
  }
}

async function pollToTheEnd(
  deps: ChaosClientDeps,
  request: ChaosRequest,
  taskId: string,
): Promise<void> {
  while (!deps.over.aborted) {
    const record = await lookup(deps.url(), request, taskId)
    if (record !== undefined) request.seen.push(record)
    if (record !== undefined && isTerminal(record)) return
    await sleep(pollMs + deps.chance.between(0, pollMs))
  }
}

/** Reads a task record. Returns `undefined` without an answer and for a 5xx: the client then asks again. */
export async function lookup(
  url: string,
  { account }: Pick<ChaosRequest, 'account'>,
  taskId: string,
): Promise<TaskRecord | undefined> {
  try {
    const answer = await withTimeout(createClient(url, account.secret).lookup(taskId))
    const text = await withTimeout(answer.text())
    if (answer.status >= 500) return undefined
    if (answer.status !== 200) throw new LookupRefused(`${taskId}: ${answer.status} ${text}`)
    const record: TaskRecord = JSON.parse(text)
    return record
  } catch (error) {
    if (error instanceof LookupRefused) throw error
    return undefined
  }
}

/** An accepted task is refused to its owner, which no fault may cause. */
class LookupRefused extends Error {
  override readonly name = 'LookupRefused'
}

/** Reports whether the record says that the task has ended. */
export function isTerminal(record: TaskRecord): boolean {
  return record.status === 'succeeded' || record.status === 'failed'
}

async function withTimeout<Value>(work: Promise<Value>): Promise<Value> {
  const timer = AbortSignal.timeout(answerMsMax)
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      timer.addEventListener('abort', () => reject(new Error('no answer in time')))
    }),
  ])
}
