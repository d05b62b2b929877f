import type { BlobStore, FoundBlob } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { ImageVariant } from '../domain/tasks/imageVariant.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import { answerImageKey, answerVariantKey } from '../domain/upstream/answerMeta.ts'
import { withTimeout } from '../domain/withTimeout.ts'
import { createRotation } from './rotation.ts'
import { retryFor } from './timeLimits.ts'

type VariantsDeps = {
  readonly blobs: Pick<BlobStore, 'put' | 'read' | 'bytesOf' | 'deletePrefix'>
  /** Returns whether the upload of an image is still there, and nobody deletes it now. */
  readonly isUploadKept: (answerId: string) => Promise<boolean>
  /** Makes the bytes of a variant, and closes the image. `undefined`: the image cannot be converted. */
  readonly convert: (image: FoundBlob, variant: ImageVariant) => Promise<Uint8Array | undefined>
}

/** Whose image it is, and the prefix of its blob keys. */
export type VariantOf = Pick<TaskView, 'accountId'> & { readonly answerId: string }

/**
 * The length of a variant in the blob store, or why there is none. `busy`: it is not made in time. `gone`: its image is
 * not there. `not_convertible`: nobody can make it.
 */
export type VariantBytes = number | 'busy' | 'gone' | 'not_convertible'
/** `left`: nobody waited any more before it was begun. */
type Made = VariantBytes | 'left'

export type Variants = ReturnType<typeof createVariants>

/** Two of the four threads that Node has for files are left for reading them. */
const makersMax = 2
const waitMsMax = 20_000
/** Limit for reading an image and converting it. The conversion has a shorter one of its own. */
const makeMsMax = 120_000
/** How long a maker tries to learn whether the image of what it wrote is still there. */
const lookMsMax = 60_000

type Making = {
  readonly made: Promise<Made>
  /** How many readers wait. */
  readers: number
  /** Leaves the line when nobody waits any more. Once it is being made, a variant is made to its end. */
  readonly leave: () => void
}

/**
 * Creates the variants of one process. A variant that is missing is made once, however many ask for it, by at most two
 * makers at a time. Accounts take turns, so the readers of one image do not keep those of other accounts waiting. Of two
 * processes that make the same one, the first to write decides.
 */
export function createVariants({ blobs, isUploadKept, convert }: VariantsDeps) {
  const makings = new Map<string, Making>()
  const rotation = createRotation(0)
  let free = makersMax

  async function makeInTurn(
    image: VariantOf,
    variant: ImageVariant,
    left: AbortSignal,
  ): Promise<Made> {
    if (free > 0) free -= 1
    else if (!(await rotation.wait(image.accountId, left))) return 'left'
    try {
      return await make(image, variant)
    } catch (error) {
      // Who deletes the image may take its folder away while it is read or its variant is written.
      if (await isUploadKept(image.answerId)) throw error
      return 'gone'
    } finally {
      rotation.leave(image.accountId, true)
      if (!rotation.callNext()) free += 1
    }
  }

  async function make(image: VariantOf, variant: ImageVariant): Promise<VariantBytes> {
    const { answerId } = image
    const bytes = await withTimeout(makeMsMax, async () => {
      const found = await blobs.read(answerImageKey(answerId))
      return found === undefined ? 'gone' : await convert(found, variant)
    })
    if (bytes === 'gone') return bytes
    if (bytes === undefined) return 'not_convertible'
    const key = answerVariantKey(answerId, variant)
    try {
      await blobs.put([key, bytes]).catch(ifNew)
    } finally {
      await removeIfGone(answerId)
    }
    return (await blobs.bytesOf(key)) ?? 'gone'
  }

  /**
   * Who deletes an image takes its upload first, and may have deleted its blobs before the variant was written. Then nobody
   * else finds what was written.
   */
  async function removeIfGone(answerId: string): Promise<void> {
    const isKept = await retryFor(lookMsMax, () => isUploadKept(answerId))
    if (!isKept) await retryFor(lookMsMax, () => blobs.deletePrefix(answerId))
  }

  function begin(key: string, image: VariantOf, variant: ImageVariant): Making {
    const left = new AbortController()
    const made = makeInTurn(image, variant, left.signal).finally(() => makings.delete(key))
    // Its readers may all have left when it fails.
    made.catch(() => {})
    const making = { made, readers: 0, leave: () => left.abort('nobody waits') }
    makings.set(key, making)
    return making
  }

  return {
    /** Returns the length of a variant, which is made if it is missing. A client that leaves is not waited for. */
    bytesOf: async (
      image: VariantOf,
      variant: ImageVariant,
      clientLeft: AbortSignal,
    ): Promise<VariantBytes> => {
      const key = answerVariantKey(image.answerId, variant)
      const stored = await blobs.bytesOf(key)
      if (stored !== undefined) return stored
      for (;;) {
        const made = await waitFor(makings.get(key) ?? begin(key, image, variant), clientLeft)
        if (made !== 'left') return made
      }
    },
  }
}

async function waitFor(making: Making, clientLeft: AbortSignal): Promise<Made> {
  const late = Promise.withResolvers<'busy'>()
  const leave = () => late.resolve('busy')
  const timer = setTimeout(leave, waitMsMax)
  clientLeft.addEventListener('abort', leave)
  if (clientLeft.aborted) leave()
  making.readers += 1
  try {
    return await Promise.race([making.made, late.promise])
  } finally {
    clearTimeout(timer)
    clientLeft.removeEventListener('abort', leave)
    making.readers -= 1
    if (making.readers === 0) making.leave()
  }
}

function ifNew(error: unknown): void {
  if (!(error instanceof BlobExistsError)) throw error
}
