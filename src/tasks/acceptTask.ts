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
import type { AskedRequest, ImageRequest } from '../domain/tasks/imageRequest.ts'
import { canonicalRequest, isSyncRoute, ofFamily } from '../domain/tasks/imageRequest.ts'
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
  readonly request: AskedRequest
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
 * different request gets a conflict. Models, access, capabilities, cooldowns and balance matter only for a new task.
 * Most keys are new, so the key is looked up only when no new task was made.
 */
export async function acceptTask(deps: AcceptTaskDeps, input: AcceptInput): Promise<Answer> {
  const checked = await checkRequest(deps, input)
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answer = checked.ok ? await acceptNew(deps, input, checked.value) : checked
    // The insert has seen that the key is free. A refusal has not looked.
    if (checked.ok && answer !== 'key_taken') return answer
    const earlier = await replay(deps, input)
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
  const checked = await checkRequest(deps, input)
  const refusal = checked.ok ? await checkMeans(deps, input.caller, checked.value) : checked.failure
  // The key comes last: who sees what an equal request has taken of the account also sees its task.
  const earlier = await replay(deps, input)
  return earlier ?? (refusal && refuse(deps, input.caller, refusal))
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
  caller: Caller,
  request: ImageRequest,
): Promise<RequestFailure | undefined> {
  return refusalByMeans(await readMeans(deps.pool, caller), taskTerms(deps, request).credits)
}

/** Returns the request for its model, or why it is refused whatever the account has left. */
async function checkRequest(
  deps: AcceptTaskDeps,
  input: AcceptInput,
): Promise<Result<ImageRequest, RequestFailure>> {
  const supported = checkSupported(deps.models, input)
  if (!supported.ok) return supported
  const refused = await checkRefused(deps, supported.value)
  return refused === undefined ? supported : fail(refused)
}

/**
 * Returns the answer for the task that the idempotency key names, or `undefined` when the key names no task. The requests
 * are compared for the family of that task: its model may have gone since.
 */
async function replay(
  { pool }: AcceptTaskDeps,
  { caller, request, idempotencyKey }: AcceptInput,
): Promise<Answer | undefined> {
  if (idempotencyKey === undefined) return undefined
  const named = await findKeyedTask(pool, caller.accountId, sha256(idempotencyKey))
  if (named === undefined) return undefined
  const { taskId, createdAtMs, credits, family, fingerprint } = named
  if (!Buffer.from(fingerprint).equals(fingerprintOf(ofFamily(request, family)))) {
    return fail({ tag: 'idempotency_key_reused' })
  }
  return succeed({ taskId, createdAtMs, credits, replayed: true })
}

/** Makes a new task, unless the idempotency key is taken. */
async function acceptNew(
  deps: AcceptTaskDeps,
  { caller, idempotencyKey, uploadId, traceparent, requestId }: AcceptInput,
  request: ImageRequest,
): Promise<Answer | 'key_taken'> {
  const keyDigest = idempotencyKey && sha256(idempotencyKey)
  const taskId = newTaskId()
  const terms = taskTerms(deps, request)
  const requiredCredits = terms.credits
  const inserted = await insertTask(deps.pool, {
    taskId,
    caller,
    request,
    fingerprint: fingerprintOf(request),
    ...terms,
    ...defined({ keyDigest, uploadId, traceparent, requestId }),
  })
  switch (inserted.kind) {
    case 'inserted': {
      deps.onAccepted(startOf(taskId, caller, request, keyDigest))
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
  request: ImageRequest,
): Promise<RequestFailure | undefined> {
  const isSync = isSyncRoute(request.route)
  const failure = isSync ? await refusedModels.failureOf(request) : undefined
  return failure && { tag: 'task_ended', failure, family: request.family }
}

function startOf(
  taskId: string,
  caller: Caller,
  request: ImageRequest,
  keyDigest: Uint8Array | undefined,
): TaskStart {
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

function fingerprintOf(request: ImageRequest): Uint8Array {
  return sha256(canonicalRequest(request))
}

function sha256(content: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(content).digest()
}
