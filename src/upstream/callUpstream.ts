import type { Dispatcher } from 'undici'
import { createAnswerBody } from './answerBody.ts'
import { callOutcome } from './callOutcome.ts'
import { callUrl, commonHeaders, readCredential } from './channelRequest.ts'
import { defined } from '../domain/defined.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { UpstreamCall, UpstreamCaller } from '../domain/upstream/upstreamCall.ts'
import { createUpstreamConnections } from './upstreamConnections.ts'
import { familyAdapters } from './familyAdapters.ts'
import { requestBody } from './requestBody.ts'
import { send } from './send.ts'
import { createByteBudget } from '../bytes/byteBudget.ts'

type UpstreamCallerDeps = {
  readonly blobs: BlobStore
  readonly models: ModelTable
  /** The secret of the identifiers by which vendors tell accounts apart. */
  readonly safetySecret: string
  /** Local directory for answers that are too large to keep in memory. Their files have no names. */
  readonly tempDir: string
  /** Default: `createUpstreamConnections()`. A caller that wants to close the connections passes its own agent. */
  readonly dispatcher?: Dispatcher
}

/**
 * Limit for the bytes of all answers above 8 MiB in memory. Until its image is stored, an answer takes almost twice its
 * bytes: fifty of 44 MiB would take 4 GB. Room for several keeps a slow blob store from storing one image at a time.
 */
const answerMemory = { bytesMax: 96 * 1024 * 1024, freeBytes: 0, accountShareMax: 1 }

/**
 * Creates the function that calls upstream models over HTTP. Each call is sent once and never repeated. Every
 * expected failure is an outcome. Only bugs and failures of the local disk are thrown. When the outcome is
 * `succeeded`, the caller must write its image to the blob store, and then call `discard`.
 *
 * An answer passes through these steps. The files are in this folder:
 * 1. `send.ts` sends the request, and without an answer knows whether the upstream can have acted on it. `exchange.ts` collects the
 *    answer in an `answerBody.ts`, until it is complete, the connection breaks, or the timeout of the call.
 * 2. `modelAnswer.ts` reads a 2xx answer, as far as it came, and `answerPictures.ts` its images. `errorAnswer.ts` reads any other answer,
 *    and the wait that it asks for.
 * 3. The family's file, such as `familyA.ts`, judges what a 2xx answer means.
 * 4. `callOutcome.ts` turns the verdict into the outcome of the call.
 */
export function createUpstreamCaller(deps: UpstreamCallerDeps): UpstreamCaller {
  const dispatcher = deps.dispatcher ?? createUpstreamConnections()
  const memory = createByteBudget(answerMemory)

  return async (call) => {
    const credential = await readCredential(call.channel)
    if (credential === undefined) {
      return { class: 'refused', evidence: { reason: 'credential_unreadable' } }
    }
    const { request, judging } = preparedCall(call, credential, deps)
    const sent = await send(dispatcher, request, createAnswerBody(deps.tempDir))
    return 'answer' in sent ? await callOutcome(sent, judging, memory) : sent
  }
}

/**
 * Returns what a call needs while its answer is awaited. This is a function of its own, so that nothing but the HTTP
 * body holds the text of the request. The body drops each text as soon as it is sent.
 */
function preparedCall(
  call: UpstreamCall,
  credential: string,
  { blobs, models, safetySecret }: UpstreamCallerDeps,
) {
  const { channel, model, request: asked, upstreamKey, timeoutMs, onSent, mayBegin, repeats } = call
  const { prepare, errorIn, requestIdIn } = familyAdapters[channel.family]
  const { contentType, pieces, judge } = prepare(call, { models, safetySecret })
  const headers = { ...commonHeaders(channel, credential), 'idempotency-key': upstreamKey }
  const body = requestBody(contentType, pieces, blobs, onSent)
  const url = callUrl(channel, asked.action, model)
  const { errorsAreFree } = channel
  const judging = { judge, errorIn, requestIdIn, ...defined({ repeats, errorsAreFree }) }
  return { request: { url, headers, body, timeoutMs, mayBegin }, judging }
}
