import { randomBytes as cryptoRandomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { readAnswerBody } from './answerBody.ts'
import { callOutcome } from './callOutcome.ts'
import { callUrl, credentialHeader, readCredential } from './channelRequest.ts'
import { assertNever } from '../domain/assertNever.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Result } from '../domain/result.ts'
import { fail } from '../domain/result.ts'
import type { ImageRequest } from '../domain/tasks/imageRequest.ts'
import type { UpstreamCall, UpstreamCaller } from '../domain/upstream/upstreamCall.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { createUpstreamConnections } from './upstreamConnections.ts'
import { familyACall } from './familyA.ts'
import type { FamilyBDeps } from './familyB.ts'
import { familyBCall } from './familyB.ts'
import type { FamilyCall, AnswerVerdict, ModelAnswer } from './familyCall.ts'
import { readModelAnswer } from './answerImages.ts'
import { requestBody } from './requestBody.ts'
import type { SendRequest } from './send.ts'
import { send } from './send.ts'
type UpstreamCallerDeps = {
  readonly blobs: BlobStore
  readonly capabilities: CapabilityTable
  /** Local directory for images that are too large to keep in memory. Created when it does not exist. */
  readonly tempDir: string
  /** Default: `createUpstreamConnections()`. A caller that wants to close the connections passes its own agent. */
  readonly dispatcher?: Dispatcher
  readonly randomBytes?: RandomBytes
  /** Returns epoch milliseconds. */
  readonly nowMs?: () => number
  /** Returns milliseconds of a clock that never goes back. */
  readonly monotonicMs?: () => number
}

/**
 * Creates the function that calls upstream models over HTTP. Each call is sent once and never repeated. Every
 * expected failure is an outcome. Only bugs and failures of the local disk are thrown. When the outcome is
 * `succeeded`, it has a local copy of the image. The caller must write the image to the blob store, and then
 * call `discard` to free the copy.
 *
 * An answer passes through these steps. The files are in this folder:
 * 1. `send.ts` sends the request and reads the answer within the timeout of the call. It knows whether the upstream
 *    can have acted on the request.
 * 2. `answerImages.ts` reads a 2xx answer with its images. `errorAnswer.ts` reads any other answer, and the wait
 *    that it asks for.
 * 3. `familyA.ts` or `familyB.ts` judges what a 2xx answer means.
 * 4. `callOutcome.ts` turns the verdict into the outcome of the call.
 */
export function createUpstreamCaller(deps: UpstreamCallerDeps): UpstreamCaller {
  const dispatcher = deps.dispatcher ?? createUpstreamConnections()
  const nowMs = deps.nowMs ?? Date.now
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const randomBytes = deps.randomBytes ?? cryptoRandomBytes
  const holdDeps: FamilyBDeps = { tempDir: deps.tempDir, randomBytes, nowMs }

  return async (call) => {
    const credential = await readCredential(call.channel)
    if (credential === undefined) {
      return { class: 'refused', evidence: { reason: 'credential_unreadable' } }
    }
    const { request, isImage, judge } = preparedCall(call, credential, deps, holdDeps)
    const read = async (answer: Answer): Promise<Result<ModelAnswer, AnswerVerdict>> => {
      // All of 2xx, because a proxy may answer 201 or 203 where the vendor answers 200.
      const mayContainImage = answer.status >= 200 && answer.status <= 299
      if (!mayContainImage) return fail(await readErrorAnswer(answer, nowMs()))
      const body = readAnswerBody(answer, upstreamAnswerBytesMax)
      return await readModelAnswer(body, isImage, holdDeps)
    }
    const sent = await send({ dispatcher, monotonicMs }, request, read)
    return await callOutcome(sent, judge)
  }
}

/**
 * Returns what a call needs while its answer is awaited. This is a function of its own, so that nothing but the HTTP
 * body holds the text of the request. The body drops each text as soon as it is sent.
 */
function preparedCall(
  call: UpstreamCall,
  credential: string,
  { blobs, capabilities }: Pick<UpstreamCallerDeps, 'blobs' | 'capabilities'>,
  holdDeps: FamilyBDeps,
): { readonly request: SendRequest } & Pick<FamilyCall, 'isImage' | 'judge'> {
  const { channel, model, upstreamKey, timeoutMs, onSent } = call
  const asked = call.takeRequest()
  const family = familyCallOf(call, asked, capabilities, holdDeps)
  const { contentType, pieces, isImage, judge } = family
  const headers = {
    ...credentialHeader(channel, credential),
    'idempotency-key': upstreamKey,
    accept: 'application/json',
    'user-agent': 'darkroom',
  }
  const body = requestBody(contentType, pieces, blobs, onSent)
  const url = callUrl(channel, asked.action, model)
  return { request: { url, headers, body, timeoutMs }, isImage, judge }
}

function familyCallOf(
  call: UpstreamCall,
  request: ImageRequest,
  capabilities: CapabilityTable,
  holdDeps: FamilyBDeps,
): FamilyCall {
  switch (call.channel.family) {
    case 'A':
      return familyACall(call, request, capabilities)
    case 'B':
      return familyBCall(call, request, holdDeps)
    default:
      return assertNever(call.channel.family)
  }
}
