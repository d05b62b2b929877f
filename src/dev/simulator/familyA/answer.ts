import { createHash, randomBytes } from 'node:crypto'
import { assertNever } from '../../../domain/assertNever.ts'
import type { EncodedImage } from '../drawImage.ts'
import type { AnswerFault } from '../faults.ts'
import type { OrderA } from '../imageOrder.ts'
import { textTokens } from '../imageOrder.ts'
import { profileOf } from './models.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Returns a GenerateContentResponse (Gemini API reference). `images` is empty when the model made no image.
 */
export function answerA(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  fileUri: string,
): Json {
  const meta = { modelVersion: order.model, responseId: randomBytes(12).toString('base64url') }
  if (fault?.kind === 'block' || fault?.kind === 'zero') {
    const usageMetadata = promptUsageOf(order)
    if (fault.kind === 'block') {
      return { promptFeedback: { blockReason: fault.reason ?? 'SAFETY' }, usageMetadata, ...meta }
    }
    return { ...(fault.form === 'absent' ? {} : { candidates: [] }), usageMetadata, ...meta }
  }
  const candidate = candidateOf(order, images, fault, fileUri)
  return { candidates: [candidate], usageMetadata: usageOf(order, images.length), ...meta }
}

function candidateOf(
  order: OrderA,
  images: readonly EncodedImage[],
  fault: Exclude<AnswerFault, { kind: 'block' | 'zero' }> | undefined,
  fileUri: string,
): Json {
  switch (fault?.kind) {
    case 'finish':
      return { ...refusedContent(fault.content), ...refused(fault.reason ?? 'IMAGE_SAFETY') }
    case 'no-image':
      return refused('NO_IMAGE')
    case 'text-only':
      return finished([{ text: 'I can only describe this picture in words.' }])
    case 'url':
      return finished([{ fileData: { mimeType: 'image/png', fileUri } }])
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

function refused(finishReason: string): Json {
  const finishMessage = 'Unable to show the generated image. Try rephrasing the prompt.'
  return { finishReason, finishMessage, index: 0 }
}

/**
 * Returns the content of a candidate without an image. The vendor sends all three forms: no content, content
 * without parts, and content with only a text.
 */
function refusedContent(content: 'none' | 'empty' | 'text' = 'none'): Json {
  switch (content) {
    case 'none':
      return {}
    case 'empty':
      return { content: { role: 'model' } }
    case 'text':
      return { content: { role: 'model', parts: [{ text: 'I cannot create this image.' }] } }
    default:
      return assertNever(content)
  }
}

function textParts(order: OrderA): Json[] {
  const text = order.action === 'edit' ? 'Here is the edited image.' : 'Here is your image.'
  return order.withText ? [{ text }] : []
}

/**
 * Returns the part with an image. Models that think sign their images. A client sends the signature back with
 * its next turn.
 */
function imagePart(order: OrderA, inlineData: EncodedImage): Json {
  if (!profileOf(order.model).thinks) return { inlineData }
  const thoughtSignature = createHash('sha512').update(order.prompt).digest('base64')
  return { inlineData, thoughtSignature }
}

const thoughtsTokenCount = 180
const answerTextTokens = 6

/** Returns the usage of an answer without a candidate. */
function promptUsageOf(order: OrderA): Json {
  const { prompt, promptTokensDetails } = promptTokensOf(order)
  return { promptTokenCount: prompt, totalTokenCount: prompt, promptTokensDetails }
}

function usageOf(order: OrderA, imageCount: number): Json {
  const { imageTokens, thinks } = profileOf(order.model)
  const { prompt, promptTokensDetails } = promptTokensOf(order)
  const images = imageCount * (imageTokens[order.tier] ?? 0)
  const text = order.withText ? answerTextTokens : 0
  const thoughts = thinks ? thoughtsTokenCount : 0
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: images + text,
    totalTokenCount: prompt + images + text + thoughts,
    promptTokensDetails,
    candidatesTokensDetails: details({ TEXT: text, IMAGE: images }),
    ...(thinks ? { thoughtsTokenCount } : {}),
  }
}

function promptTokensOf({ model, prompt, sources }: OrderA) {
  const text = textTokens(prompt)
  const images = sources.length * profileOf(model).inputImageTokens
  return {
    prompt: text + images,
    promptTokensDetails: details({ TEXT: text, IMAGE: images }),
  }
}

function details(counts: Readonly<Record<string, number>>): Json[] {
  return Object.entries(counts)
    .filter(([, tokenCount]) => tokenCount > 0)
    .map(([modality, tokenCount]) => ({ modality, tokenCount }))
}
