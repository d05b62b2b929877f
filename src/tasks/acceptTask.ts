import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestsState } from '../domain/accounts/limits.ts'
import { assertNever } from '../domain/assertNever.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import { newTaskId } from '../domain/ids.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import { canonicalRequest, isSyncRoute } from '../domain/tasks/imageRequest.ts'
import type { TaskStart } from '../domain/tasks/taskStart.ts'
import type { TaskTermsDeps } from '../domain/tasks/taskTerms.ts'
import { taskTerms } from '../domain/tasks/taskTerms.ts'
import type { RefusedModels } from './refusedModels.ts'
import { findKeyedTask } from '../store/tasks/idempotencyKey.ts'
import { insertTask } from '../store/tasks/insertTask.ts'

export type AcceptTaskDeps = TaskTermsDeps & {
  readonly pool: Pool
  readonly capabilities: CapabilityTable
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
  /**
   * The names of two fields in error messages. Default: `size` and `aspect_ratio`. The v1beta routes pass the paths
   * that these fields have in their own documents.
   */
  readonly paramNames?: ParamNames
}

/** The names, in error messages, of the two fields that some models do not support. */
export type ParamNames = { readonly size: string; readonly aspectRatio: string }

const snakeCaseNames: ParamNames = { size: 'size', aspectRatio: 'aspect_ratio' }

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
  const submission = {
    ...input,
    fingerprint: sha256(canonicalRequest(input.request)),
    keyDigest: input.idempotencyKey && sha256(input.idempotencyKey),
  }
  const refusal =
    checkSupported(input, deps.capabilities) ?? (await checkRefused(deps, input.request))
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
    case 'over_budget':
      return fail({ tag: 'over_budget', requiredCredits, budget: inserted.budget })
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

/**
 * Checks whether the account may use the model, then whether the model supports the request. Returns the
 * failure, or `undefined` when the request is supported.
 */
function checkSupported(
  { caller, request, paramNames = snakeCaseNames }: AcceptInput,
  capabilities: CapabilityTable,
): RequestFailure | undefined {
  const { model, size, aspectRatio } = request
  if (caller.models !== undefined && !caller.models.includes(model)) {
    return { tag: 'access_denied', message: 'This account has no access to the requested model.' }
  }
  const supported = capabilities[model]
  if (size !== undefined && !supported.sizes.includes(size)) {
    return notSupported(paramNames.size, supported.sizes)
  }
  if (aspectRatio !== undefined && !supported.aspectRatios.includes(aspectRatio)) {
    return notSupported(paramNames.aspectRatio, supported.aspectRatios)
  }
  return undefined
}

function notSupported(param: string, supported: readonly string[]): RequestFailure {
  const message =
    supported.length === 0
      ? 'The requested model does not take this parameter.'
      : `The requested model does not support this value. Supported: ${supported.join(', ')}.`
  return invalidRequest('invalid_value', param, message)
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
