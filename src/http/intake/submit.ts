import type { Caller } from '../../domain/accounts/account.ts'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { newUploadId } from '../../domain/ids.ts'
import { NothingWrittenError } from '../../domain/nothingWrittenError.ts'
import type { Result } from '../../domain/result.ts'
import { succeed } from '../../domain/result.ts'
import type { UnstoredRequest } from '../../domain/tasks/imageRequest.ts'
import type { ParamNames } from '../../domain/tasks/checkSupported.ts'
import { readTraceparent } from '../../domain/tasks/traceparent.ts'
import type { AcceptInput, Accepted } from '../../tasks/acceptTask.ts'
import type { AccountHandler } from '../authenticate.ts'
import type { ApiContext } from '../requestState.ts'
import type { ApiParts } from '../apiParts.ts'
import type { HttpFailure } from '../errors.ts'
import type { RouteContext } from '../route.ts'
import type { AcceptedCall } from '../answers/answerSync.ts'
import { rateLimitHeaders } from '../answers/rateLimitHeaders.ts'
import type { StreamForm } from '../answers/streamForms.ts'
import type { BodyOptions } from './body.ts'
import { readIdempotencyKey } from './idempotencyKey.ts'
import { blobsOf, nameInputs, withUpload } from './inputUpload.ts'
import { freeMemory } from '../../bytes/freeMemory.ts'

/**
 * Makes the handler of a route that makes a task: reads the idempotency key, receives the body with `receive`, stores
 * the images, accepts the request as a task, and answers with `answer`.
 */
export function submitHandler(
  receive: Receive,
  answer: AnswerAccepted,
): (parts: ApiParts) => AccountHandler {
  return (parts) => async (context, caller) => {
    const key = readIdempotencyKey(context.req)
    if (!key.ok) return key.failure
    const entry = { context, caller, parts, ...defined({ key: key.value }) }
    const accepted = await receiveAndAccept(entry, receive)
    return accepted.ok ? answer(context, parts, accepted.value) : accepted.failure
  }
}

/** Reads and validates the body of one route. */
export type Receive = (
  context: RouteContext,
  options: BodyOptions,
) => Promise<Result<Received, RequestFailure>>

type Received = {
  readonly request: UnstoredRequest
  readonly paramNames?: ParamNames
  /** Present when the client asks for a stream. It is no part of the request: the same task answers either way. */
  readonly stream?: StreamForm | undefined
}

/** Answers an accepted request. */
type AnswerAccepted = (
  context: ApiContext,
  parts: ApiParts,
  accepted: AcceptedCall,
) => Promise<HttpFailure | undefined>

type Entry = {
  readonly context: RouteContext
  readonly caller: Caller
  readonly parts: ApiParts
  readonly key?: Uint8Array
}

/**
 * Receives a request and accepts it. This is a function of its own so that the request and its images go out of scope
 * when it returns: a synchronous answer may take minutes, and they must not stay in memory for so long.
 */
async function receiveAndAccept(
  entry: Entry,
  receive: Receive,
): Promise<Result<AcceptedCall, RequestFailure>> {
  return withBodyRoom(entry, async (options) => {
    const received = await receive(entry.context, options)
    if (!received.ok) return received
    const { request, stream } = received.value
    const accepted = await storeAndAccept(entry, received.value)
    // The images are parts of the body. If its memory waited for V8 to collect it, the next large bodies would come first
    // and take as much again. Not after an error: a write that failed may still be under way.
    for (const { content } of request.inputs) freeMemory(content)
    return accepted.ok ? succeed({ ...accepted.value, stream }) : accepted
  })
}

/** Runs `work`, which reads a body within the limit of requests, and within the caller's share of the memory for bodies. */
export async function withBodyRoom<Value>(
  { caller, parts }: Pick<Entry, 'caller' | 'parts'>,
  work: (options: BodyOptions) => Promise<Value>,
): Promise<Value> {
  const room = parts.largeBodies.open(caller.accountId)
  try {
    return await work({ limitBytes: parts.config.ingressLimitBytes, room })
  } finally {
    room.end()
  }
}

/**
 * Accepts a valid request. Stores its images in one upload before that, unless it would make no new task: what is refused
 * or repeated writes nothing.
 */
async function storeAndAccept(
  entry: Entry,
  { request, paramNames }: Received,
): Promise<Result<Accepted, RequestFailure>> {
  const { context, caller, parts, key } = entry
  const uploadId = newUploadId('input')
  const inputs = await nameInputs(uploadId, request)
  const input: AcceptInput = {
    caller,
    request: { ...request, inputs },
    requestId: context.state.requestId,
    ...defined({
      idempotencyKey: key,
      traceparent: readTraceparent(context.get('traceparent')),
      paramNames,
    }),
  }
  if (inputs.length === 0) return accept(entry, input)
  const answer = await parts.tasks.answerWithoutTask(input)
  if (answer !== undefined) return noted(entry, answer)
  return withUpload(entry, uploadId, async () => {
    await parts.blobs.put(...blobsOf(uploadId, request))
    return accept(entry, { ...input, uploadId })
  })
}

async function accept(entry: Entry, input: AcceptInput): Promise<Result<Accepted, RequestFailure>> {
  const { context, parts, key } = entry
  // If `accept` throws, the task may exist nevertheless. A client that sends its request again without a key would
  // then make a second task.
  context.state.retryIsUnsafe = key === undefined
  const accepted = await parts.tasks.accept(input).catch((error: unknown) => {
    if (error instanceof NothingWrittenError) context.state.retryIsUnsafe = false
    throw error
  })
  return noted(entry, accepted)
}

/** Notes what every answer to a request says of its task and of the limits of its account. */
function noted(
  { context, key }: Entry,
  accepted: Result<Accepted, RequestFailure>,
): Result<Accepted, RequestFailure> {
  const told = accepted.ok ? accepted.value : accepted.failure
  const requests = 'requests' in told ? told.requests : undefined
  if (requests !== undefined) context.set(rateLimitHeaders(requests))
  if (!accepted.ok) {
    context.state.retryIsUnsafe = false
    return accepted
  }
  // From now on an upstream call may be running, so a retry can pay for the same work twice. Without a key, a retry
  // makes a second task. With a key, a retry joins this task, but only until the key becomes free. It becomes free
  // when the task of a synchronous call fails and the client is expected to try again (`tailSql` in `afterEnd.ts`), and
  // when the task's record is purged.
  context.state.retryIsUnsafe = true
  context.state.taskId = accepted.value.taskId
  context.state.replayed = accepted.value.replayed
  if (key !== undefined) context.set('Idempotent-Replayed', String(accepted.value.replayed))
  return accepted
}
