import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestsState } from '../domain/accounts/accountLimits.ts'
import { refusalByMeans } from '../domain/accounts/means.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { newTaskId } from '../domain/ids.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import { canonicalRequest, isSyncRoute } from '../domain/tasks/imageRequest.ts'
import type { ParamNames } from '../domain/tasks/checkSupported.ts'
import { checkSupported } from '../domain/tasks/checkSupported.ts'
import type { TaskStart } from '../domain/tasks/taskStart.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'
import type { RefusedModels } from './refusedModels.ts'
import { tellRefusal } from '../store/accounts/budgets.ts'
import { readMeans } from '../store/accounts/readMeans.ts'
import { findKeyedTask } from '../store/tasks/keyedTask.ts'
import { insertTask } from '../store/tasks/insertTask.ts'

export type AcceptTaskDeps = TaskTermsDeps & {
  readonly pool: Pool
  readonly refusedModels: Pick<RefusedModels, 'failureOf'>
  /** Called for every new task, so that a worker gets it. Never throws and never waits. */
  readonly onAccepted: (start: TaskStart) => void
}

export type AcceptInput = {
  readonly caller: Caller
  readonly request: ImageRequest
  /**
   * The upload that contains the request's images, from `openUpload`. Absent when the request has no images.
   */
  readonly uploadId?: string
  /** The Idempotency-Key header as sent: 1 to 255 bytes. */
  readonly idempotencyKey?: Uint8Array
  /** The `x-request-id` of the answer to this request. */
  readonly requestId?: string
  /** The span of the client that asks, as `readTraceparent` returns it. The trace of a new task continues it. */
  readonly traceparent?: string
  /** Absent: `size` and `aspect_ratio`. */
  readonly paramNames?: ParamNames
}

export type Accepted = {
  readonly taskId: string
  readonly createdAtMs: number
  /** The credits that were held for the task when it was accepted. */
  readonly credits: number
  /** Whether the idempotency key named an existing task with the same request. Then no new task was made. */
  readonly replayed: boolean
  /** The limit of requests with this one. Absent for a replay, and for an account without this limit. */
  readonly requests?: RequestsState
}

type Answer = Result<Accepted, RequestFailure>

/** The input of one acceptance, with its digests. It stays the same when the acceptance is tried again. */
type Submission = AcceptInput & {
  readonly fingerprint: Uint8Array
  readonly keyDigest: Uint8Array | undefined
}

/**
 * Limit for the tries of one acceptance. Another try is needed only when the idempotency key was taken at the insert
 * of the task and is free after the lookup of the key. If that happens ten times in a row, something is wrong in the
 * code.
 */
const triesMax = 10

/**
 * Accepts a request as a task. One statement inserts the task and holds its price. Afterwards `onAccepted` brings the
 * task on its way to a worker.
 *
 * If the idempotency key already names a task, only the requests are compared: the same request gets that task, and a
 * different request gets a conflict. Access, capabilities, cooldowns and balance matter only for a new task. Most keys
 * are new, so the key is looked up only when no new task was made.
 */
export async function acceptTask(deps: AcceptTaskDeps, input: AcceptInput): Promise<Answer> {
  const submission = submissionOf(input)
  const refusal = await checkRequest(deps, input)
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answer = refusal === undefined ? await acceptNew(deps, submission) : fail(refusal)
    // The insert has seen that the key is free. A refusal has not looked.
    if (refusal === undefined && answer !== 'key_taken') return answer
    const earlier = await replay(deps, submission)
    if (earlier !== undefined) return earlier
    if (answer !== 'key_taken') return answer
  }
  throw new Error('Bug: an idempotency key is taken, and yet names no task')
}

/**
 * Returns how `acceptTask` would answer a request for which it makes no new task: by the task of its key, or why it is
 * refused. Returns `undefined` when it would make one now. Only reads, and takes no lock, so it comes before what a
 * request costs: the images of one that is refused or repeated are not stored. What it finds may change until
 * `acceptTask`, which alone decides that there is a new task.
 */
export async function answerWithoutTask(
  deps: AcceptTaskDeps,
  input: AcceptInput,
): Promise<Answer | undefined> {
  const refusal = (await checkRequest(deps, input)) ?? (await checkMeans(deps, input))
  // The key comes last: who sees what an equal request has taken of the account also sees its task.
  const earlier = await replay(deps, submissionOf(input))
  return earlier ?? (refusal && refuse(deps, input.caller, refusal))
}

function submissionOf(input: AcceptInput): Submission {
  return {
    ...input,
    fingerprint: sha256(canonicalRequest(input.request)),
    keyDigest: input.idempotencyKey && sha256(input.idempotencyKey),
  }
}

/** Answers with a refusal. Webhooks that name the event are told of the first one by a budget in its period. */
async function refuse(
  { pool }: AcceptTaskDeps,
  { keyId }: Caller,
  failure: RequestFailure,
): Promise<Answer> {
  if (failure.tag === 'over_budget' && failure.budget.refusalToTell) {
    await tellRefusal(pool, keyId, failure.budget)
  }
  return fail(failure)
}

/** Returns why the account has too little left for this request, or `undefined`. Takes nothing of it. */
async function checkMeans(
  deps: AcceptTaskDeps,
  { caller, request }: AcceptInput,
): Promise<RequestFailure | undefined> {
  return refusalByMeans(await readMeans(deps.pool, caller), taskTerms(deps, request).credits)
}

/** Returns why the request is refused whatever the account has left, or `undefined`. */
async function checkRequest(
  deps: AcceptTaskDeps,
  input: AcceptInput,
): Promise<RequestFailure | undefined> {
  return checkSupported(deps.capabilities, input) ?? (await checkRefused(deps, input.request))
}

/** Returns the answer for the task that the idempotency key names, or `undefined` when the key names no task. */
async function replay(
  { pool }: AcceptTaskDeps,
  { caller, keyDigest, fingerprint }: Submission,
): Promise<Answer | undefined> {
  if (keyDigest === undefined) return undefined
  const named = await findKeyedTask(pool, caller.accountId, keyDigest)
  if (named === undefined) return undefined
  if (!Buffer.from(named.fingerprint).equals(fingerprint)) {
    return fail({ tag: 'idempotency_key_reused' })
  }
  const { taskId, createdAtMs, credits } = named
  return succeed({ taskId, createdAtMs, credits, replayed: true })
}

/** Makes a new task, unless the idempotency key is taken. */
async function acceptNew(
  deps: AcceptTaskDeps,
  submission: Submission,
): Promise<Answer | 'key_taken'> {
  const { caller, request, fingerprint, keyDigest, uploadId, traceparent, requestId } = submission
  const taskId = newTaskId()
  const terms = taskTerms(deps, request)
  const requiredCredits = terms.credits
  const inserted = await insertTask(deps.pool, {
    taskId,
    caller,
    request,
    fingerprint,
    ...terms,
    ...defined({ keyDigest, uploadId, traceparent, requestId }),
  })
  switch (inserted.kind) {
    case 'inserted': {
      deps.onAccepted(startOf(taskId, submission))
      const { createdAtMs, requests } = inserted
      const { credits } = terms
      return succeed({ taskId, createdAtMs, credits, replayed: false, ...defined({ requests }) })
    }
    case 'over_limit':
      return fail(inserted.limit)
    case 'insufficient':
      return fail({ tag: 'insufficient_quota', requiredCredits })
    case 'over_budget': {
      const { budget } = inserted
      return refuse(deps, caller, { tag: 'over_budget', requiredCredits, budget })
    }
    case 'key_taken':
      return 'key_taken'
    default:
      return assertNever(inserted)
  }
}

/** Returns the failure of a synchronous call that would find no channel, or `undefined`. */
async function checkRefused(
  { refusedModels }: AcceptTaskDeps,
  { route, model, family }: ImageRequest,
): Promise<RequestFailure | undefined> {
  const failure = isSyncRoute(route) ? await refusedModels.failureOf(model) : undefined
  return failure && { tag: 'task_ended', failure, family }
}

function startOf(taskId: string, { caller, request, keyDigest }: Submission): TaskStart {
  const { family, model, action, size, route } = request
  const digestHex = keyDigest && Buffer.from(keyDigest).toString('hex')
  return {
    taskId,
    accountId: caller.accountId,
    family,
    model,
    action,
    sync: isSyncRoute(route),
    ...defined({ size, keyDigest: digestHex }),
  }
}

function sha256(content: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(content).digest()
}
