import { createHash } from 'node:crypto'
import type { Caller } from '../domain/account.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { newTaskId } from '../domain/ids.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import { canonicalRequest, isSyncRoute } from '../domain/imageRequest.ts'
import { hardEndMs } from '../domain/deadlines.ts'
import type { Family } from '../domain/models.ts'
import type { TaskStart } from '../domain/ports/taskRuns.ts'
import type { InsertTaskResult, OnAccepted, TaskStore } from '../domain/ports/taskStore.ts'
import type { Price } from '../domain/prices.ts'
import { creditsOf } from '../domain/prices.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { AcceptInput, Accepted, ParamNames } from './taskService.ts'

export type AcceptTaskDeps = {
  readonly store: Pick<TaskStore, 'findKeyedTask' | 'freeKey' | 'insertTask'>
  readonly capabilities: CapabilityTable
  /** Complete: no reachable request is unpriced. */
  readonly prices: readonly Price[]
  readonly taskDeadlineMs: number
  /** Of the family's slowest channel. */
  readonly longestTimeoutMs: (family: Family) => number
  readonly randomBytes: RandomBytes
  readonly onAccepted: OnAccepted
}

type Answer = Result<Accepted, RequestFailure>

/** What one request comes to under its key: fixed over all tries. */
type Submission = AcceptInput & {
  readonly fingerprint: Uint8Array
  readonly keyDigest: Uint8Array | undefined
}

/** Losing a key again and again needs others to take it and give it back each time: not a living case. */
const triesMax = 10

const snakeCaseNames: ParamNames = { size: 'size', aspectRatio: 'aspect_ratio' }

/**
 * Accepts a request as a task, whoever calls (design 1.2, section 4): what its key already names decides
 * first; then access, capabilities and money. Once committed, its workflow is handed to the start queue.
 */
export function createAcceptTask(deps: AcceptTaskDeps) {
  return async (input: AcceptInput): Promise<Answer> => {
    const submission = {
      ...input,
      fingerprint: sha256(canonicalRequest(input.request)),
      keyDigest: input.idempotencyKey === undefined ? undefined : sha256(input.idempotencyKey),
    }
    for (let tries = 0; tries < triesMax; tries += 1) {
      const answer = (await replay(deps, submission)) ?? (await acceptNew(deps, submission))
      if (answer !== 'key_taken') return answer
    }
    throw new Error('Bug: an idempotency key is taken and free at once')
  }
}

async function replay(deps: AcceptTaskDeps, submission: Submission): Promise<Answer | undefined> {
  const { caller, keyDigest, fingerprint } = submission
  if (keyDigest === undefined) return undefined
  const named = await deps.store.findKeyedTask(caller.accountId, keyDigest)
  if (named === undefined) return undefined
  if (named.purgeDue) {
    await deps.store.freeKey(caller.accountId, keyDigest)
    return undefined
  }
  if (!Buffer.from(named.fingerprint).equals(fingerprint)) {
    return fail({ tag: 'idempotency_key_reused' })
  }
  return succeed({ taskId: named.taskId, createdAtMs: named.createdAtMs, replayed: true })
}

async function acceptNew(
  deps: AcceptTaskDeps,
  submission: Submission,
): Promise<Answer | 'key_taken'> {
  const { caller, request, paramNames = snakeCaseNames } = submission
  const refusal = refusalOf(caller, request, deps.capabilities, paramNames)
  if (refusal !== undefined) return fail(refusal)
  const credits = creditsOf(deps.prices, { ...request, inputImages: request.inputs.length })
  if (credits === undefined) throw new Error(`Bug: a request of ${request.model} has no price`)
  const taskId = newTaskId(deps.randomBytes)
  const inserted = await insert(deps, submission, taskId, credits)
  switch (inserted.kind) {
    case 'inserted':
      deps.onAccepted(startOf(taskId, submission))
      return succeed({ taskId, createdAtMs: inserted.createdAtMs, replayed: false })
    case 'insufficient':
      // What is missing may have gone to this very key a moment ago: what it names decides first.
      return (
        (await replay(deps, submission)) ??
        fail({ tag: 'insufficient_quota', requiredCredits: credits })
      )
    case 'key_taken':
      return 'key_taken'
    default:
      return inserted satisfies never
  }
}

function insert(
  deps: AcceptTaskDeps,
  submission: Submission,
  taskId: string,
  credits: number,
): Promise<InsertTaskResult> {
  const { caller, request, fingerprint, keyDigest, uploadId } = submission
  const deadlineMs = deps.taskDeadlineMs
  return deps.store.insertTask({
    taskId,
    caller,
    request,
    fingerprint,
    ...defined({ keyDigest, uploadId }),
    credits,
    deadlineMs,
    hardEndMs: hardEndMs(deadlineMs, deps.longestTimeoutMs(request.family)),
  })
}

function startOf(taskId: string, { caller, request, keyDigest }: Submission): TaskStart {
  return {
    taskId,
    accountId: caller.accountId,
    ...startFacts(request),
    ...(keyDigest === undefined ? {} : { keyDigest: Buffer.from(keyDigest).toString('hex') }),
  }
}

function startFacts(request: ImageRequest) {
  const { family, model, action, size, route } = request
  return {
    family,
    model,
    action,
    ...defined({ size }),
    sync: isSyncRoute(route),
  }
}

function sha256(content: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(content).digest()
}

/** What forbids a request besides money: its account's models, then its model's capabilities. */
function refusalOf(
  caller: Caller,
  request: ImageRequest,
  capabilities: CapabilityTable,
  paramNames: ParamNames,
): RequestFailure | undefined {
  const { model, size, aspectRatio } = request
  if (caller.models !== undefined && !caller.models.includes(model)) {
    return { tag: 'access_denied', message: 'This account has no access to the requested model.' }
  }
  const able = capabilities[model]
  if (size !== undefined && !able.sizes.includes(size)) {
    return notSupported(paramNames.size, able.sizes)
  }
  if (aspectRatio !== undefined && !able.aspectRatios.includes(aspectRatio)) {
    return notSupported(paramNames.aspectRatio, able.aspectRatios)
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
