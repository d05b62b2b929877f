import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, ChaosRequest } from './chaosRequest.ts'
import { codeOf, sendRequest } from './chaosRequest.ts'
import type { TaskRecord } from '../clients/client.ts'
import { createClient } from '../clients/client.ts'
import type { Seeded } from '../seeded.ts'

/** After this time a client breaks its connection, and repeats the request. */
const [answerMsMax, imageMsMax] = [5_000, 15_000]
const retryMs = 300
const pollMs = 200
/** After so many answers a synchronous client gives up. The upstream refuses some prompts each time. */
const triesMax = 20

type ChaosClientDeps = {
  /** Returns the base URL of an API that should be running. */
  readonly url: () => string
  readonly chance: Seeded
  /** Aborts when the time is over. The client then stops, also when its task has not ended. */
  readonly over: AbortSignal
}

/** Repeats a request with its key until it gets a final answer. Then polls an accepted task until it ends. */
export async function runChaosClient(deps: ChaosClientDeps, request: ChaosRequest): Promise<void> {
  const copies = Array.from({ length: request.copies }, () =>
    sendUntilFinal(deps, request, request.answers),
  )
  await Promise.all(copies)
  const accepted = request.answers.find((answer) => answer !== 'none' && answer.status === 202)
  if (accepted === undefined || accepted === 'none') return
  const taskId = String(Object(JSON.parse(accepted.text)).task_id)
  request.taskId = taskId
  if (request.conflicts) {
    const changed = { ...request, prompt: `${request.tag} changed` }
    await sendUntilFinal(deps, changed, request.conflictAnswers)
  }
  while (!deps.over.aborted) {
    const record = await lookup(deps.url(), request, taskId)
    if (record !== undefined) request.seen.push(record)
    if (record !== undefined && isTerminal(record)) return
    await sleep(pollMs + deps.chance.between(0, pollMs))
  }
}

async function sendUntilFinal(
  { url, over }: ChaosClientDeps,
  request: ChaosRequest,
  answers: (Answer | 'none')[],
): Promise<void> {
  const limitMs = request.isSync ? imageMsMax : answerMsMax
  for (let tries = 0; !over.aborted && !(request.isSync && tries === triesMax); tries += 1) {
    const answer = await sendRequest(createClient(url(), request.account.secret), request, limitMs)
    answers.push(answer)
    if (answer !== 'none' && isFinal(answer)) return
    await sleep(retryMs)
  }
}

/**
 * A 429 asks for another try, and so does a 408: an API that was stopped for 30 s finds that a request on a new connection
 * came too late. The codes say nothing about the task.
 */
function isFinal(answer: Answer): boolean {
  const passing = ['generation_timeout', 'internal_error', 'cancelled']
  return ![408, 429, 503].includes(answer.status) && !passing.includes(codeOf(answer) ?? '')
}

/** Reads a task record. Returns `undefined` without an answer, for a 408 and for a 5xx: the client then asks again. */
export async function lookup(
  url: string,
  { account }: Pick<ChaosRequest, 'account'>,
  taskId: string,
): Promise<TaskRecord | undefined> {
  const answer = await fetch(`${url}/v1/tasks/${taskId}`, {
    headers: { authorization: `Bearer ${account.secret}` },
    signal: AbortSignal.timeout(answerMsMax),
  }).catch(() => undefined)
  const text = await answer?.text().catch(() => undefined)
  if (answer === undefined || text === undefined) return undefined
  if (answer.status === 408 || answer.status >= 500) return undefined
  // An accepted task is refused to its owner, which no fault may cause.
  if (answer.status !== 200) throw new Error(`${taskId}: ${answer.status} ${text}`)
  const record: TaskRecord = JSON.parse(text)
  return record
}

/** Reports whether the record says that the task has ended. */
export function isTerminal(record: TaskRecord): boolean {
  return record.status === 'succeeded' || record.status === 'failed'
}
