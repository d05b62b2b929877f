import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskRecord } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import type { Seeded } from '../seeded.ts'
import type { ChaosAnswer, ChaosRequest } from './chaosRequest.ts'

const answerMsMax = 5_000
const retryMs = 300
const pollMs = 200

export type ChaosClientDeps = {
  /** The base address of an API that is thought to live. */
  readonly url: () => string
  readonly chance: Seeded
  /** Aborts when no more time is given; what is open then stays open. */
  readonly over: AbortSignal
}

/** Does what a good client does: submits under a key until answered, then polls to the end. */
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
    const answer = await within(client.submit(body, { 'idempotency-key': key }))
    const text = await within(answer.text())
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

/** `undefined`: no answer, or a 5xx, which a client asks again about. */
export async function lookup(
  url: string,
  { account }: Pick<ChaosRequest, 'account'>,
  taskId: string,
): Promise<TaskRecord | undefined> {
  try {
    const answer = await within(createClient(url, account.secret).lookup(taskId))
    const text = await within(answer.text())
    if (answer.status >= 500) return undefined
    if (answer.status !== 200) throw new LookupRefused(`${taskId}: ${answer.status} ${text}`)
    const record: TaskRecord = JSON.parse(text)
    return record
  } catch (error) {
    if (error instanceof LookupRefused) throw error
    return undefined
  }
}

/** An accepted task that its owner cannot read: never, whatever is broken. */
class LookupRefused extends Error {
  override readonly name = 'LookupRefused'
}

export function isTerminal(record: TaskRecord): boolean {
  return record.status === 'succeeded' || record.status === 'failed'
}

async function within<Value>(work: Promise<Value>): Promise<Value> {
  const timer = AbortSignal.timeout(answerMsMax)
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      timer.addEventListener('abort', () => reject(new Error('no answer in time')))
    }),
  ])
}
