import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../domain/accounts/account.ts'
import { defined } from '../../domain/defined.ts'
import type { RequestFailure } from '../../domain/failure.ts'
import { invalidRequest } from '../../domain/failure.ts'
import { jsonPieces } from '../../domain/jsonPieces.ts'
import { idempotencyKeyBytesMax } from '../../domain/limits.ts'
import { NothingWrittenError } from '../../domain/ports/nothingWrittenError.ts'
import type { Result } from '../../domain/result.ts'
import { fail, succeed } from '../../domain/result.ts'
import type { ImageRequest } from '../../domain/tasks/imageRequest.ts'
import type { Accepted, ParamNames } from '../../tasks/acceptTask.ts'
import { roomFor } from '../../tasks/byteBudget.ts'
import type { ApiContext, ApiParts, HttpFailure } from '../context.ts'
import type { OpenBodyOptions } from './openBody.ts'
import type { Staging } from './staging.ts'
import { createStaging } from './staging.ts'

/**
 * Does what the five routes that make a task have in common. Reads the idempotency key, receives the body
 * with `receive`, accepts the request as a task, and answers with `answer`. If the request makes no new task,
 * its stored images are discarded at the end. This happens also when the client leaves midway.
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
    const { accountId } = caller
    const room = roomFor(parts.largeBodies, accountId)
    const textRoom = roomFor(parts.requestTexts, accountId, textWaitMs)
    const options = { ingressLimitBytes, accountId, room, textRoom, turns: parts.loopTurns }
    // `accept` makes several copies of the texts, so their room ends only after it.
    const received = await receiveAndAccept(entry, () => receive(staging, options)).finally(
      textRoom.end,
    )
    if (!received.ok) return received.failure
    return await answer(received.value.accepted, received.value.acceptAgain)
  } finally {
    if (context.state.replayed !== false) await discardStaged(context, parts, staging)
  }
}

/** Reads and validates the body of one route. Stores the images of the body in `staging`. */
export type Receive = (
  staging: Staging,
  options: OpenBodyOptions,
) => Promise<Result<Received, HttpFailure>>

type Received = { readonly request: ImageRequest; readonly paramNames?: ParamNames }

/**
 * Answers an accepted request. `acceptAgain` accepts the same request once more. A call needs it if it joined
 * the task of an earlier call, and that task was cancelled because its client left. `acceptAgain` is `undefined` if
 * the request made a new task, and if its text is too large to keep in memory.
 */
export type AnswerAccepted = (
  accepted: Accepted,
  acceptAgain: AcceptAgain | undefined,
) => Promise<HttpFailure | undefined>

type AcceptAgain = () => Promise<Result<Accepted, HttpFailure>>

/**
 * Limit for the text of a request that stays in memory while its call waits, in UTF-16 code units. Enough for
 * almost every prompt, and small enough for many waiting calls. A request with more text is not kept.
 */
const keptTextLengthMax = 256 * 1024

/**
 * How long the long texts of a request wait for room. The largest texts of one account are received one after the
 * other, at about a second each, so this is enough for a short burst of them. A body that waits is not read.
 */
const textWaitMs = 15_000

type Entry = {
  readonly context: ApiContext
  readonly caller: Caller
  readonly parts: ApiParts
  readonly staging: Staging
  readonly key: Uint8Array | undefined
}

/**
 * Receives a request and accepts it. This is a separate function so that the request goes out of scope when
 * the function returns: a synchronous answer may take minutes, and the request must not stay in memory for so
 * long. Only `acceptAgain` keeps the request, if it is small.
 */
async function receiveAndAccept(
  entry: Entry,
  receive: () => Promise<Result<Received, HttpFailure>>,
): Promise<Result<{ accepted: Accepted; acceptAgain: AcceptAgain | undefined }, HttpFailure>> {
  const received = await receive()
  if (!received.ok) return received
  const accepted = await accept(entry, received.value)
  if (!accepted.ok) return accepted
  const isKept = accepted.value.replayed && isShort(received.value.request)
  const acceptAgain = isKept ? () => accept(entry, received.value) : undefined
  return succeed({ accepted: accepted.value, acceptAgain })
}

function isShort({ body }: ImageRequest): boolean {
  if (body.kind === 'prompt') return body.prompt.length <= keptTextLengthMax
  let length = 0
  for (const piece of jsonPieces({ ...body.content }, 'as given')) {
    length += piece.length
    if (length > keptTextLengthMax) return false
  }
  return true
}

async function accept(
  { context, caller, parts, staging, key }: Entry,
  { request, paramNames }: Received,
): Promise<Result<Accepted, HttpFailure>> {
  // If `accept` throws, the task may exist nevertheless. A client without a key would then make a second task
  // when it retries.
  context.state.retryIsUnsafe = key === undefined
  const input = {
    caller,
    request,
    pause: () => parts.loopTurns.pause(caller.accountId),
    ...defined({ uploadId: staging.uploadId(), idempotencyKey: key, paramNames }),
  }
  const accepted = await parts.tasks.accept(input).catch((error: unknown) => {
    if (error instanceof NothingWrittenError) context.state.retryIsUnsafe = false
    throw error
  })
  if (!accepted.ok) return accepted
  // From now on an upstream call may be running. If the client retries, with or without a key, the same work
  // may be done twice.
  context.state.retryIsUnsafe = true
  context.state.taskId = accepted.value.taskId
  context.state.replayed = accepted.value.replayed
  if (key !== undefined) context.set('Idempotent-Replayed', String(accepted.value.replayed))
  return accepted
}

/**
 * Makes the stored images due for the sweep. An error here is reported and does not change the answer. The sweep then
 * deletes the upload when it is `uploadGraceMs` old.
 */
async function discardStaged(
  context: ApiContext,
  parts: ApiParts,
  staging: Staging,
): Promise<void> {
  try {
    await staging.discard()
  } catch (error) {
    const { requestId, route } = context.state
    parts.reportError?.(error, { requestId, route })
  }
}

/**
 * Returns the bytes of the Idempotency-Key header as they were sent, including quotes. Returns `undefined`
 * without the header. Node decodes headers as latin1, so the length of the text is the number of bytes.
 */
function readIdempotencyKey(
  request: IncomingMessage,
): Result<Uint8Array | undefined, RequestFailure> {
  const [key, ...others] = request.headersDistinct['idempotency-key'] ?? []
  if (key === undefined) return succeed(undefined)
  if (others.length > 0) return fail(invalidKey('is given more than once'))
  if (key === '') return fail(invalidKey('is empty'))
  if (key.length > idempotencyKeyBytesMax) {
    return fail(invalidKey(`is longer than ${idempotencyKeyBytesMax} bytes`))
  }
  return succeed(Buffer.from(key, 'latin1'))
}

function invalidKey(why: string): RequestFailure {
  const message = `The Idempotency-Key header ${why}.`
  return invalidRequest('invalid_value', 'Idempotency-Key', message)
}
