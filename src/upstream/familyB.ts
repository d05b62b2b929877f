import { upstreamModelName } from '../domain/channel.ts'
import { randomText } from '../domain/ids.ts'
import type { UpstreamCall } from '../domain/upstreamCaller.ts'
import { asPng } from './asPng.ts'
import { familyBResponse, isEmptyFamilyB, isFamilyBImage } from './familyBAnswer.ts'
import { familyBRequest } from './familyBRequest.ts'
import type { AnswerVerdict, FamilyCall } from './familyCall.ts'
import type { HoldDeps } from './holdBytes.ts'
import type { ModelAnswer } from './readModelAnswer.ts'

export type FamilyBDeps = HoldDeps & {
  /** Epoch milliseconds, for an answer that does not say when it was made. */
  readonly nowMs: () => number
}

/** Family B: generations and edits of the OpenAI Images wire format (design section 3, `baseUrl`). */
export function familyBCall(call: UpstreamCall, deps: FamilyBDeps): FamilyCall {
  const { channel, request } = call
  const boundary = `darkroom-${randomText(deps.randomBytes, 40)}`
  const model = upstreamModelName(channel, request.model)
  const { path, contentType, pieces } = familyBRequest(request, model, boundary)
  return {
    url: `${channel.baseUrl}${path}`,
    headers: { authorization: `Bearer ${channel.apiKey}` },
    contentType,
    pieces,
    isImage: isFamilyBImage,
    judge: async (answer) => await judge(answer, deps),
  }
}

/** Of several images the first whole one counts. An image by URL is not fetched: the answer is broken. */
async function judge(answer: ModelAnswer, deps: FamilyBDeps): Promise<AnswerVerdict> {
  if (isEmptyFamilyB(answer.document)) return { kind: 'refusal', reason: 'no_image' }
  const first = answer.images.find(({ image }) => image !== undefined)?.image
  const image = first === undefined ? undefined : await asPng(first, deps)
  if (image === undefined) return { kind: 'broken' }
  const response = familyBResponse(answer.document, Math.floor(deps.nowMs() / 1000))
  return { kind: 'image', image, native: { response, imagePath: ['data', 0, 'b64_json'] } }
}
