import type { EncodedImage } from '../drawImage.ts'
import type { AnswerFault } from '../faults.ts'
import type { OrderB } from '../imageOrder.ts'
import { textTokens } from '../imageOrder.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns an ImagesResponse (OpenAI API reference). `images` is empty when the model made no image. */
export function answerB(
  order: OrderB,
  images: readonly EncodedImage[],
  fault: AnswerFault | undefined,
  imageUrl: string,
  nowMs: number,
): Json {
  const created = Math.floor(nowMs / 1000)
  if (fault?.kind === 'zero' && fault.form === 'absent') return { created }
  const data =
    fault?.kind === 'url' ? [{ url: imageUrl }] : images.map((image) => ({ b64_json: image.data }))
  return {
    created,
    background: order.background,
    data,
    output_format: order.format,
    quality: order.quality,
    size: `${order.width}x${order.height}`,
    usage: usageOf(order, images.length),
  }
}

/** The output tokens of one image, by its number of pixels and its quality. */
const knownTokens: readonly (readonly [number, Readonly<Record<OrderB['quality'], number>>])[] = [
  [1024 * 1024, { low: 196, medium: 1756, high: 7024 }],
  [2048 * 2048, { low: 397, medium: 3568, high: 14_272 }],
  [3840 * 2160, { low: 371, medium: 3336, high: 13_342 }],
]
const inputImageTokens = 1024

function usageOf(order: OrderB, imageCount: number): Json {
  const text = textTokens(order.prompt)
  const inputImages = order.sources.length * inputImageTokens
  const output = imageCount * imageTokens(order)
  return {
    total_tokens: text + inputImages + output,
    input_tokens: text + inputImages,
    output_tokens: output,
    input_tokens_details: { text_tokens: text, image_tokens: inputImages },
    output_tokens_details: { text_tokens: 0, image_tokens: output },
  }
}

/**
 * Returns the output tokens of one image. For an unknown size, takes the known size with the nearest number
 * of pixels.
 */
function imageTokens(order: OrderB): number {
  const distance = (pixels: number): number => Math.abs(pixels - order.width * order.height)
  const nearest = knownTokens.toSorted(([a], [b]) => distance(a) - distance(b))[0]
  return nearest?.[1][order.quality] ?? 0
}
