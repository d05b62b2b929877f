import type { SpillDeps } from './spillFile.ts'
import { createSpillFile } from './spillFile.ts'

export type HeldBytes = {
  readonly bytes: number
  /** Any number of times, also at once. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly discard: () => Promise<void>
}

export type HoldDeps = SpillDeps

/** Most images of one or two megapixels stay in memory; with fifty calls at once this is 100 MiB. */
export const heldInMemoryBytesMax = 2 * 1024 * 1024

/**
 * Keeps content for reading later: in memory up to `heldInMemoryBytesMax`, beyond that in a file, and in
 * memory again from where the disk fails: what is held is paid for, and `content` is bounded. Throws what
 * `content` throws, holding nothing.
 */
export async function holdBytes(
  content: AsyncIterable<Uint8Array>,
  deps: HoldDeps,
): Promise<HeldBytes> {
  const spill = createSpillFile(deps)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.byteLength
      chunks.push(chunk)
      if (bytes <= heldInMemoryBytesMax) continue
      while (chunks[0] !== undefined && (await spill.push(chunks[0]))) chunks.shift()
    }
  } catch (error) {
    await spill.close()
    throw error
  }
  const open = async function* (): AsyncGenerator<Uint8Array> {
    yield* spill.open()
    yield* chunks
  }
  const discard = async (): Promise<void> => {
    chunks.length = 0
    await spill.close()
  }
  return { bytes, open, discard }
}
