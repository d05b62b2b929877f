import { randomBytes as cryptoRandomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { Agent } from 'undici'
import { assertNever } from '../domain/assertNever.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import { defined } from '../domain/defined.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import { upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { NativeResponse } from '../domain/nativeResponse.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { HeldImage, UpstreamCall, UpstreamCaller } from '../domain/upstreamCall.ts'
import type { JsonPath } from '../streams/json/readJsonDocument.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import { familyACall } from './familyA.ts'
import type { FamilyBDeps } from './familyB.ts'
import { familyBCall } from './familyB.ts'
import type { AnswerReading, ModelAnswer } from './modelAnswer.ts'
import { readModelAnswer } from './modelAnswer.ts'
import { outcomeOf } from './outcome.ts'
import type { BodyPiece } from './requestBody.ts'
import { requestBody } from './requestBody.ts'
import type { Answer } from './send.ts'
import { send } from './send.ts'

type UpstreamCallerDeps = {
  readonly blobs: BlobStore
  readonly capabilities: CapabilityTable
  /** Local directory for answers larger than memory should hold; made when absent. */
  readonly tempDir: string
  /** Default: `createUpstreamAgent()`. Pass it to be able to close it. */
  readonly dispatcher?: Dispatcher
  readonly randomBytes?: RandomBytes
  /** Epoch milliseconds. */
  readonly nowMs?: () => number
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonicMs?: () => number
}

/**
 * Calls upstream models over HTTP, each call once (design 1.7, 1.8). Every expected failure is an
 * outcome; what is thrown is a bug. The image of a `succeeded` outcome is held for
 * the caller to store and discard.
 */
export function createUpstreamCaller(deps: UpstreamCallerDeps): UpstreamCaller {
  const dispatcher = deps.dispatcher ?? createUpstreamAgent()
  const nowMs = deps.nowMs ?? Date.now
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const randomBytes = deps.randomBytes ?? cryptoRandomBytes
  const hold: FamilyBDeps = { tempDir: deps.tempDir, randomBytes, nowMs }

  return async (call) => {
    const family = familyCallOf(call, deps.capabilities, hold)
    const read = async (answer: Answer): Promise<AnswerReading> => {
      if (!mayHoldImage(answer.status))
        return { kind: 'error', error: await readErrorAnswer(answer, nowMs()) }
      const body = answer.body(upstreamAnswerBytesMax)
      return { kind: 'ok', read: await readModelAnswer(body, family.isImage, hold) }
    }
    const request = {
      url: family.url,
      headers: {
        ...family.headers,
        'idempotency-key': call.idempotencyKey,
        accept: 'application/json',
        'user-agent': 'darkroom',
      },
      body: requestBody(family.contentType, family.pieces, deps.blobs),
      timeoutMs: call.timeoutMs,
      ...defined({ signal: call.signal }),
    }
    const result = await send({ dispatcher, monotonicMs }, request, read)
    return await outcomeOf(result, family)
  }
}

/** A front may answer 201 or 203 where the vendor says 200. */
function mayHoldImage(status: number): boolean {
  return status >= 200 && status <= 299
}

function familyCallOf(
  call: UpstreamCall,
  capabilities: CapabilityTable,
  hold: FamilyBDeps,
): FamilyCall {
  switch (call.channel.family) {
    case 'A':
      return familyACall(call, capabilities)
    case 'B':
      return familyBCall(call, hold)
    default:
      return assertNever(call.channel.family)
  }
}

/** What differs between the two families: the request as it goes out, and what a 200 means. */
export type FamilyCall = {
  readonly url: string
  /** The credential among them. */
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Which strings of the answer are images. */
  readonly isImage: (path: JsonPath) => boolean
  /** Hands on at most one image of the answer, or one made from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

export type AnswerVerdict =
  | { readonly kind: 'image'; readonly image: HeldImage; readonly native: NativeResponse }
  | {
      readonly kind: 'refusal'
      readonly reason: 'content_policy' | 'no_image'
      /** Family A: the model's own words to the synchronous caller. */
      readonly nativeRefusal?: JsonObject
    }
  | { readonly kind: 'broken' }

/** Per upstream origin; the channels' own bounds lie below. What does not fit waits inside its deadline. */
const connectionsMax = 1024
const connectMsMax = 10_000
/** A connection opened for a call that was given up meanwhile may still serve one, so long. */
const unusedMsMax = 1_000
const headerBytesMax = 32 * 1024

/**
 * The connections to upstream models, one for each call: on a connection that served before, what an
 * upstream sends behind its answer (garbage, or the answer once more) would be taken for the answer to
 * the next call. HTTP/1.1 only: there the first byte of a request is written when its body is first
 * asked for, on which `send` relies. Timeouts of a call are given with each call.
 */
export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsMax,
    // The library's way to say `Connection: close`, and to close whatever the upstream says to that.
    pipelining: 0,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: unusedMsMax,
    maxHeaderSize: headerBytesMax,
  })
}
