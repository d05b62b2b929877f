import { createHash } from 'node:crypto'
import type { CapabilityTable } from '../domain/capabilities.ts'
import { upstreamModelName } from '../domain/channel.ts'
import type { UpstreamCall } from '../domain/upstreamCaller.ts'
import { assertNever } from '../domain/assertNever.ts'
import { isFamilyAImage, readFamilyA } from './familyAAnswer.ts'
import { familyARequest } from './familyARequest.ts'
import type { AnswerVerdict, FamilyCall } from './familyCall.ts'
import type { ModelAnswer } from './readModelAnswer.ts'

/** Family A: `generateContent` of the Gemini wire format (design section 3, `baseUrl`). */
export function familyACall(call: UpstreamCall, capabilities: CapabilityTable): FamilyCall {
  const { channel, request } = call
  const segments = upstreamModelName(channel, request.model).split('/')
  return {
    url: `${channel.baseUrl}/v1beta/models/${segments.map(encodeURIComponent).join('/')}:generateContent`,
    headers: { 'x-goog-api-key': channel.apiKey },
    contentType: 'application/json',
    pieces: familyARequest(request, capabilities[request.model]),
    isImage: isFamilyAImage,
    judge: (answer) => Promise.resolve(judge(answer, call)),
  }
}

function judge(answer: ModelAnswer, call: UpstreamCall): AnswerVerdict {
  const modelVersion = call.request.model
  const reading = readFamilyA(answer, { modelVersion, responseId: responseId(call.idempotencyKey) })
  switch (reading.kind) {
    case 'image': {
      const { image, response, imagePath } = reading
      return { kind: 'image', image, native: { response, imagePath } }
    }
    case 'refusal':
      return { kind: 'refusal', reason: reading.reason, nativeRefusal: reading.response }
    case 'broken':
      return reading
    default:
      return assertNever(reading)
  }
}

/** Ours, and the same however often an answer is read; the key itself is not shown to clients. */
function responseId(idempotencyKey: string): string {
  return createHash('sha256').update(`response ${idempotencyKey}`).digest('base64url').slice(0, 22)
}
