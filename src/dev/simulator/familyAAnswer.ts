import { createHash, randomBytes } from 'node:crypto'
import { assertNever } from '../../domain/assertNever.ts'
import type { EncodedImage } from './encodeImages.ts'
import type { AnswerFault } from './faults.ts'
import type { OrderA } from './imageOrder.ts'
import { profileOf } from './modelProfiles.ts'
import { textTokens } from './textTokens.ts'

type Json = Record<string, unknown>

/** GenerateContentResponse: research/wire.md section 1, Response. `images` is empty when none was made. */
export function answerA(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: AnswerFault | null,
  fileUri: string,
): Json {
  const meta = { modelVersion: order.model, responseId: randomBytes(12).toString('base64url') }
  if (fault?.kind === 'block' || fault?.kind === 'zero') {
    const usageMetadata = usageOf(order, 0, false)
    return fault.kind === 'block'
      ? { promptFeedback: { blockReason: fault.reason ?? 'SAFETY' }, usageMetadata, ...meta }
      : { ...(fault.form === 'absent' ? {} : { candidates: [] }), usageMetadata, ...meta }
  }
  const candidate = candidateOf(order, images, fault, fileUri)
  return { candidates: [candidate], usageMetadata: usageOf(order, images.length, true), ...meta }
}

function candidateOf(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: AnswerFault | null,
  fileUri: string,
): Json {
  switch (fault?.kind) {
    case 'finish':
    case 'no-image': {
      const finishReason = fault.kind === 'no-image' ? 'NO_IMAGE' : (fault.reason ?? 'IMAGE_SAFETY')
      const content = fault.kind === 'finish' ? (fault.content ?? 'none') : 'none'
      const finishMessage = 'Unable to show the generated image. Try rephrasing the prompt.'
      return { ...refusedContent(content), finishReason, finishMessage, index: 0 }
    }
    case 'text-only':
      return finished([{ text: 'I can only describe this picture in words.' }])
    case 'url':
      return finished([{ fileData: { mimeType: 'image/png', fileUri } }])
    case 'block':
    case 'zero':
    case 'two':
    case undefined:
      return finished([...textParts(order), ...images.map((image) => imagePart(order, image))])
    default:
      return assertNever(fault)
  }
}

function finished(parts: readonly Json[]): Json {
  return { content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }
}

/** Seen in the wild: no content, content without parts, and content with a text only. */
function refusedContent(content: 'none' | 'empty' | 'text'): Json {
  if (content === 'none') return {}
  return content === 'empty'
    ? { content: { role: 'model' } }
    : { content: { role: 'model', parts: [{ text: 'I cannot create this image.' }] } }
}

function textParts(order: OrderA): Json[] {
  const text = order.action === 'edit' ? 'Here is the edited image.' : 'Here is your image.'
  return order.withText ? [{ text }] : []
}

/** Thinking models sign their images; the signature must come back in later turns. */
function imagePart(order: OrderA, inlineData: EncodedImage): Json {
  if (!profileOf(order.model).thinks) return { inlineData }
  const thoughtSignature = createHash('sha512').update(order.prompt).digest('base64')
  return { inlineData, thoughtSignature }
}

const thoughtsTokenCount = 180

function usageOf(order: OrderA, imageCount: number, answered: boolean): Json {
  const profile = profileOf(order.model)
  const text = textTokens(order.prompt)
  const inputImages = order.sources.length * profile.inputImageTokens
  const prompt = text + inputImages
  const images = imageCount * (profile.imageTokens[order.tier] ?? 0)
  const answerText = answered && order.withText ? 6 : 0
  const thoughts = answered && profile.thinks ? thoughtsTokenCount : 0
  return {
    promptTokenCount: prompt,
    ...(answered ? { candidatesTokenCount: images + answerText } : {}),
    totalTokenCount: prompt + images + answerText + thoughts,
    promptTokensDetails: details({ TEXT: text, IMAGE: inputImages }),
    ...(answered ? { candidatesTokensDetails: details({ TEXT: answerText, IMAGE: images }) } : {}),
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  }
}

function details(counts: Readonly<Record<string, number>>): Json[] {
  return Object.entries(counts)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))
}
