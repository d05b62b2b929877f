import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../domain/account.ts'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import type { ImageRequest } from '../../domain/imageRequest.ts'
import { idempotencyKeyBytesMax } from '../../domain/limits.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { Accepted, ParamNames } from '../../tasks/acceptTask.ts'
import type { ApiContext, ApiParts } from '../context.ts'
import type { HttpFailure } from '../errors.ts'
import type { OpenBodyOptions } from './body.ts'
import { leaseFrom } from './byteBudget.ts'
import type { Staging } from './staging.ts'
import { createStaging } from './staging.ts'

type Received = { readonly request: ImageRequest; readonly paramNames?: ParamNames }

/** Reads the body of one route and checks it; images go to `staging`. */
export type Receive = (
  staging: Staging,
  options: OpenBodyOptions,
) => Promise<Result<Received, HttpFailure>>

type Acceptance = Result<Accepted, HttpFailure>
type Again = () => Promise<Acceptance>

/**
 * Answers a request that was accepted. `again` accepts the same request once more, for a call that joined
 * a task which then ended as if it had never been; absent for one too large to be kept for that.
 */
export type AnswerAccepted = (
  accepted: Accepted,
  again: Again | undefined,
) => Promise<HttpFailure | undefined>

/** Beside a waiting call lies its connection, not its prompt of megabytes. */
const keptTextMax = 256 * 1024

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
  const entry = { context, caller, parts, staging, key: key.value }
  try {
    const { ingressLimitBytes } = parts.config
    const lease = leaseFrom(parts.largeBodies, caller.accountId)
    const begun = await begin(entry, () => receive(staging, { ingressLimitBytes, lease }))
    return begun.ok ? await answer(begun.value.accepted, begun.value.again) : begun.failure
  } finally {
    if (context.state.replayed !== false) await discard(context, parts, staging)
  }
}

type Entry = {
  readonly context: ApiContext
  readonly caller: Caller
  readonly parts: ApiParts
  readonly staging: Staging
  readonly key: Uint8Array | undefined
}

/** Apart from the answer, which may be long in coming: nothing of the request is to be held for it. */
async function begin(
  entry: Entry,
  receive: () => Promise<Result<Received, HttpFailure>>,
): Promise<Result<{ accepted: Accepted; again: Again | undefined }, HttpFailure>> {
  const received = await receive()
  if (!received.ok) return received
  const accepted = await acceptOnce(entry, received.value)
  if (!accepted.ok) return accepted
  const isKept = accepted.value.replayed && textLength(received.value.request) <= keptTextMax
  // This closure is the one thing that keeps the request.
  const again = isKept ? () => acceptOnce(entry, received.value) : undefined
  return succeed({ accepted: accepted.value, again })
}

function textLength({ body }: ImageRequest): number {
  return body.kind === 'prompt' ? body.prompt.length : JSON.stringify(body.content).length
}

async function acceptOnce(entry: Entry, received: Received): Promise<Acceptance> {
  const { context, key } = entry
  // From here on the outcome of an error is open, and without a key a retry makes a second task.
  context.state.retryMayRepeatWork = key === undefined
  const accepted = await accept(entry, received)
  if (!accepted.ok) return accepted
  // An attempt may exist from here on: a retry may be for work that is done, key or no key.
  context.state.retryMayRepeatWork = true
  context.state.taskId = accepted.value.taskId
  context.state.replayed = accepted.value.replayed
  if (key !== undefined) context.set('Idempotent-Replayed', String(accepted.value.replayed))
  return accepted
}

function accept(
  { caller, parts, staging, key }: Entry,
  { request, paramNames }: Received,
): Promise<Acceptance> {
  const uploadId = staging.uploadId()
  return parts.tasks.accept({
    caller,
    request,
    ...defined({ uploadId, idempotencyKey: key, paramNames }),
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

const param = 'Idempotency-Key'

/**
 * The bytes of the Idempotency-Key as sent: node gives header bytes as latin1, so their number is the
 * text's length (design section 4). Quotes, if any, are part of the key. Absent: `undefined`.
 */
function readIdempotencyKey(
  request: IncomingMessage,
): Result<Uint8Array | undefined, RequestFailure> {
  const [key, ...more] = request.headersDistinct['idempotency-key'] ?? []
  if (key === undefined) return succeed(undefined)
  if (more.length > 0) return refuse('is given more than once')
  if (key === '') return refuse('is empty')
  if (key.length > idempotencyKeyBytesMax) {
    return refuse(`is longer than ${idempotencyKeyBytesMax} bytes`)
  }
  return succeed(Buffer.from(key, 'latin1'))
}

function refuse(what: string): Result<undefined, RequestFailure> {
  return fail(invalidRequest('invalid_value', param, `The ${param} header ${what}.`))
}
