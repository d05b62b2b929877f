import { randomBytes as cryptoRandomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Dispatcher } from 'undici'
import { assertNever } from '../domain/assertNever.ts'
import type { BlobStore } from '../domain/blobStore.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import type { RandomBytes } from '../domain/ids.ts'
import { upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { UpstreamCall, UpstreamCaller } from '../domain/upstreamCaller.ts'
import type { AnswerReading } from './answerReading.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import { familyACall } from './familyA.ts'
import type { FamilyBDeps } from './familyB.ts'
import { familyBCall } from './familyB.ts'
import type { FamilyCall } from './familyCall.ts'
import { outcomeOf } from './outcomeOf.ts'
import { readModelAnswer } from './readModelAnswer.ts'
import { requestBody } from './requestBody.ts'
import type { Answer } from './send.ts'
import { send } from './send.ts'
import { createUpstreamAgent } from './upstreamAgent.ts'

export type UpstreamCallerDeps = {
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
      ...(call.signal === undefined ? {} : { signal: call.signal }),
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
