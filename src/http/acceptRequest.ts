import type { Caller } from '../domain/caller.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import type { Result } from '../domain/result.ts'
import type { Accepted, ParamNames } from '../tasks/taskService.ts'
import type { ApiContext } from './apiContext.ts'
import type { ApiParts } from './apiParts.ts'
import { leaseFrom } from './bodyLease.ts'
import type { HttpFailure } from './httpFailure.ts'
import { readIdempotencyKey } from './idempotencyKey.ts'
import type { OpenBodyOptions } from './openBody.ts'
import type { Staging } from './staging.ts'
import { createStaging } from './staging.ts'

export type Received = { readonly request: ImageRequest; readonly paramNames?: ParamNames }

/** Reads the body of one route and checks it; images go to `staging`. */
export type Receive = (
  staging: Staging,
  options: OpenBodyOptions,
) => Promise<Result<Received, HttpFailure>>

/**
 * Answers a request that was accepted. `again` accepts the same request once more: for a call that joined
 * a task which then ended as if it had never been.
 */
export type AnswerAccepted = (
  accepted: Accepted,
  again: () => Promise<Result<Accepted, HttpFailure>>,
) => Promise<HttpFailure | undefined>

/**
 * The way in that five routes share: key, body, acceptance. Whatever was staged for a request that made
 * no new task is given up once it is answered, also when the client leaves in the middle of it.
 */
export async function acceptRequest(
  context: ApiContext,
  caller: Caller,
  parts: ApiParts,
  receive: Receive,
  answer: AnswerAccepted,
): Promise<HttpFailure | undefined> {
  const key = readIdempotencyKey(context.req)
  if (!key.ok) return key.failure
  const staging = createStaging(parts.tasks, parts.blobs)
  const lease = leaseFrom(parts.largeBodies)
  let taken = false
  try {
    const { ingressLimitBytes } = parts.config
    const received = await receive(staging, { ingressLimitBytes, lease })
    if (!received.ok) return received.failure
    const acceptOnce = async (): Promise<Result<Accepted, HttpFailure>> => {
      // From here on the outcome of an error is open, and without a key a retry makes a second task.
      context.state.retryMayRepeatWork = key.value === undefined
      const accepted = await accept(caller, parts, received.value, staging, key.value)
      if (!accepted.ok) return accepted
      taken = !accepted.value.replayed
      // An attempt may exist from here on: a retry may be for work that is done, key or no key.
      context.state.retryMayRepeatWork = true
      context.state.taskId = accepted.value.taskId
      context.state.replayed = accepted.value.replayed
      if (key.value !== undefined) context.set('Idempotent-Replayed', String(!taken))
      return accepted
    }
    const accepted = await acceptOnce()
    return accepted.ok ? await answer(accepted.value, acceptOnce) : accepted.failure
  } finally {
    if (!taken) await discard(context, parts, staging)
  }
}

function accept(
  caller: Caller,
  parts: ApiParts,
  { request, paramNames }: Received,
  staging: Staging,
  idempotencyKey: Uint8Array | undefined,
): Promise<Result<Accepted, HttpFailure>> {
  const uploadId = staging.uploadId()
  return parts.tasks.accept({
    caller,
    request,
    ...(uploadId === undefined ? {} : { uploadId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(paramNames === undefined ? {} : { paramNames }),
  })
}

/** An upload that cannot be given up now is swept by its row: no reason to change the answer. */
async function discard(context: ApiContext, parts: ApiParts, staging: Staging): Promise<void> {
  try {
    await staging.discard()
  } catch (error) {
    const { requestId, route } = context.state
    parts.reportError?.(error, { requestId, route })
  }
}
