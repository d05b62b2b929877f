import type { HeldImage } from '../domain/upstreamOutcome.ts'
import { createImageSniffer, sniffed } from '../streams/sniffImage.ts'
import type { HoldDeps } from './holdBytes.ts'
import { holdBytes } from './holdBytes.ts'

/**
 * Holds an image of an upstream answer. Type and size are those of the bytes, whatever the vendor
 * declares (research wire.md section 1: the declared MIME type can be wrong). `undefined`, and nothing
 * held, when the bytes are no whole PNG, JPEG or WebP.
 */
export async function holdImage(
  content: AsyncIterable<Uint8Array>,
  deps: HoldDeps,
): Promise<HeldImage | undefined> {
  const sniffer = createImageSniffer()
  const held = await holdBytes(sniffed(content, sniffer), deps)
  const image = sniffer.finish()
  if (image !== undefined) return { ...image, ...held }
  await held.discard()
  return undefined
}
