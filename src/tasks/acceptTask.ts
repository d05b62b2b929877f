import { createHash } from 'node:crypto'
import type { Caller } from '../domain/account.ts'
import { assertNever } from '../domain/assertNever.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import { defined } from '../domain/defined.ts'
import type { RequestFailure } from '../domain/failure.ts'
import { invalidRequest } from '../domain/failure.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { newTaskId } from '../domain/ids.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import { canonicalRequest, isSyncRoute } from '../domain/imageRequest.ts'
import type { TaskStart } from '../domain/ports/taskRuns.ts'
import type { OnAccepted, TaskStore } from '../domain/ports/taskStore.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { TaskTermsDeps } from './taskTerms.ts'
import { taskTerms } from './taskTerms.ts'

export type AcceptTaskDeps = TaskTermsDeps & {
  readonly store: Pick<TaskStore, 'findKeyedTask' | 'freeKey' | 'insertTask'>
  readonly capabilities: CapabilityTable
  readonly randomBytes: RandomBytes
  readonly onAccepted: OnAccepted
}

export type AcceptInput = {
  readonly caller: Caller
  readonly request: ImageRequest
  /** The upload that contains the request's images, from `openUpload`. Absent without images. */
  readonly uploadId?: string
  /** The Idempotency-Key header as sent: 1 to 255 bytes. */
  readonly idempotencyKey?: Uint8Array
  /** Default `size` and `aspect_ratio`. The v1beta routes pass the paths of their own fields. */
  readonly paramNames?: ParamNames
}

/** How error messages name the two fields that a model may not support. */
export type ParamNames = { readonly size: string; readonly aspectRatio: string }

const snakeCaseNames: ParamNames = { size: 'size', aspectRatio: 'aspect_ratio' }

export type Accepted = {
  readonly taskId: string
  readonly createdAtMs: number
  /** The key named an existing task with the same request; no new task was made. */
  readonly replayed: boolean
}

type Answer = Result<Accepted, RequestFailure>

/** One call of `acceptTask`, with its digests; the same for all tries. */
type Submission = AcceptInput & {
  readonly fingerprint: Uint8Array
  readonly keyDigest: Uint8Array | undefined
}

/** A second try is needed when a concurrent request took the key. Ten in a row means a bug. */
const triesMax = 10

/**
 * Accepts a request as a task and holds its price, in one transaction; then queues the start of its
 * workflow. An idempotency key that names a task decides first: the same request gets that task, another
 * request a conflict. Only a new task is checked against access, capabilities and balance.
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
    throw new Error('Bug: an idempotency key is taken, and yet names no task')
  }
}

/** The answer from the task that the key names; `undefined` when the key names none. */
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
  const { caller, request, fingerprint, keyDigest, uploadId } = submission
  const unsupported = checkSupported(submission, deps.capabilities)
  if (unsupported !== undefined) return fail(unsupported)
  const taskId = newTaskId(deps.randomBytes)
  const terms = taskTerms(deps, request)
  const inserted = await deps.store.insertTask({
    taskId,
    caller,
    request,
    fingerprint,
    ...terms,
    ...defined({ keyDigest, uploadId }),
  })
  switch (inserted.kind) {
    case 'inserted':
      deps.onAccepted(startOf(taskId, submission))
      return succeed({ taskId, createdAtMs: inserted.createdAtMs, replayed: false })
    case 'insufficient':
      // A concurrent request with the same key may have spent the last credits: then this is its replay.
      return (
        (await replay(deps, submission)) ??
        fail({ tag: 'insufficient_quota', requiredCredits: terms.credits })
      )
    case 'key_taken':
      return 'key_taken'
    default:
      return assertNever(inserted)
  }
}

/** Checks the account's models, then the capabilities of the model. `undefined`: nothing is wrong. */
function checkSupported(
  { caller, request, paramNames = snakeCaseNames }: Submission,
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
