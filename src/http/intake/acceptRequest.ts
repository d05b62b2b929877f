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
import { readTraceparent } from '../../domain/tasks/traceparent.ts'
import type { Accepted, ParamNames } from '../../tasks/acceptTask.ts'
import { roomFor } from '../../tasks/byteBudget.ts'
import type { ApiContext, ApiParts, HttpFailure } from '../context.ts'
import type { OpenBodyOptions } from './openBody.ts'
import { isSmallBody } from './openBody.ts'
import type { Staging } from './staging.ts'
import { createStaging } from './staging.ts'

/**
 * Does what the five routes that make a task have in common: reads the idempotency key, receives the body with
 * `receive`, accepts the request as a task, and answers with `answer`. If the request makes no new task, the images
 * that were stored for it are discarded at the end, also when the client leaves midway.
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
    // The texts stay in memory, in several copies, until `accept` has stored them. So their room is given back only
    // after `accept`.
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
 * Answers an accepted request. `acceptAgain` accepts the same request once more. A synchronous answer needs it for a
 * request that joined the task of an earlier request by the same idempotency key: the client of the earlier request
 * may leave, and its task is then cancelled if no call may have done work. This cancel makes the key free, so
 * `acceptAgain` can make a new task with the key.
 *
 * `acceptAgain` is `undefined` if the request made a new task itself, and if its text is too large to keep in memory.
 */
export type AnswerAccepted = (
  accepted: Accepted,
  acceptAgain: AcceptAgain | undefined,
) => Promise<HttpFailure | undefined>

type AcceptAgain = () => Promise<Result<Accepted, HttpFailure>>

/**
 * Limit for the text of a request that `acceptAgain` keeps in memory while its call waits for the end of a task, in
 * UTF-16 code units. Almost every prompt is shorter, and many waiting calls with such texts fit into memory. For a
 * request with more text there is no `acceptAgain`.
 */
const keptTextLengthMax = 256 * 1024

/**
 * How long a request with long texts waits for room in memory. One account gets room for one request of the largest
 * size at a time. Receiving such a request takes about a second, or eight seconds while other accounts use the API.
 * So this wait is enough for a short burst of such requests. While a body waits for room, nothing more of it is read.
 */
const textWaitMs = 30_000

type Entry = {
  readonly context: ApiContext
  readonly caller: Caller
  readonly parts: ApiParts
  readonly staging: Staging
  readonly key: Uint8Array | undefined
}

/**
 * Receives a request and accepts it. This is a function of its own so that the request goes out of scope when the
 * function returns: a synchronous answer may take minutes, and the request must not stay in memory for so long. Only
 * `acceptAgain` keeps the request, if it is short.
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
  // If `accept` throws, the task may exist nevertheless. A client that sends its request again without a key would
  // then make a second task.
  context.state.retryIsUnsafe = key === undefined
  const input = {
    caller,
    request,
    pause: () => parts.loopTurns.pause(caller.accountId, { ofSmallBody: isSmallBody(context.req) }),
    ...defined({
      uploadId: staging.uploadId(),
      idempotencyKey: key,
      paramNames,
      traceparent: readTraceparent(context.get('traceparent')),
    }),
  }
  const accepted = await parts.tasks.accept(input).catch((error: unknown) => {
    if (error instanceof NothingWrittenError) context.state.retryIsUnsafe = false
    throw error
  })
  if (!accepted.ok) return accepted
  // From now on an upstream call may be running, so a retry can pay for the same work twice. Without a key, a retry
  // makes a second task. With a key, a retry joins this task, but only until the key becomes free. It becomes free
  // when the task of a synchronous call fails and the client is expected to try again (`isKeyFreed` in
  // `idempotencyKey.ts`), and when the task's record is purged.
  context.state.retryIsUnsafe = true
  context.state.taskId = accepted.value.taskId
  context.state.replayed = accepted.value.replayed
  if (key !== undefined) context.set('Idempotent-Replayed', String(accepted.value.replayed))
  return accepted
}

/**
 * Makes the stored images due for the sweep. An error here is reported and does not change the answer. After such an
 * error, the sweep deletes the upload when it is `uploadGraceMs` old.
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
 * Returns the bytes of the Idempotency-Key header as they were sent, including quotes. Returns `undefined` when the
 * request has no such header. Fails when the header is given twice, is empty or is too long. Node decodes headers as
 * latin1, so the length of the text is the number of bytes.
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
