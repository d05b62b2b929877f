import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { BlobStore, NewBlob } from '../../domain/ports/blobStore.ts'
import { BlobExistsError } from '../../domain/ports/blobStore.ts'
import type { AnswerMeta } from '../../domain/upstream/answerMeta.ts'
import {
  answerImageKey,
  answerMetaKey,
  answerOriginalKey,
} from '../../domain/upstream/answerMeta.ts'
import type { KeptImage, UpstreamOutcome } from '../../domain/upstream/upstreamCall.ts'
import { withTimeout } from '../../domain/withTimeout.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { retryFor } from '../timeLimits.ts'

type AnswerToStore = {
  readonly taskId: string
  readonly attempt: number
  readonly answerId: string
  /** Time until the task's hard end. A failed write to the blob store is tried again during this time. */
  readonly hardEndMs: number
  readonly outcome: Extract<UpstreamOutcome, { class: 'succeeded' }>
}

/**
 * Stores an answer, before the task is settled with it. `meta.json` appears after the image, so an answer with
 * `meta.json` is complete, with the original where the image was converted. Never overwrites a blob. Tries a failed
 * write again until the task's hard end, because the call is paid for and must not be made again. After the hard end,
 * throws the last error of the blob store.
 */
export async function storeAnswer(
  { blobs, log }: { readonly blobs: BlobStore; readonly log: Pick<Logger, 'warn'> },
  answer: AnswerToStore,
): Promise<AnswerMeta> {
  const { taskId, attempt, answerId, hardEndMs } = answer
  const { image, native } = answer.outcome
  try {
    const { width, height, bytes, original } = image
    const meta: AnswerMeta = {
      version: 1,
      taskId,
      attempt,
      image: { ...described(image), width, height },
      ...(original && { original: described(original) }),
      native,
    }
    const kept: readonly NewBlob[] =
      original === undefined ? [] : [[answerOriginalKey(answerId), original.bytes]]
    const put = () =>
      blobs.put([answerImageKey(answerId), bytes], ...kept, [
        answerMetaKey(answerId),
        Buffer.from(JSON.stringify(meta)),
      ])
    // Only this attempt writes these keys. If they exist, an earlier try succeeded, and only its reply was lost.
    let isLogged = false
    await retryFor(hardEndMs, () =>
      put().catch((error: unknown) => {
        if (error instanceof BlobExistsError) return
        if (!isLogged) log.warn('answer not stored yet', { taskId, attempt, error })
        isLogged = true
        throw error
      }),
    )
    return meta
  } finally {
    image.discard()
  }
}

function described({ mimeType, bytes }: Pick<KeptImage, 'mimeType' | 'bytes'>) {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { mimeType, bytes: bytes.length, sha256 }
}

/** Limit for reading one `meta.json`, because a blob store may have no timeout of its own. */
const readTimeoutMs = 10_000

/**
 * Reads the `meta.json` of an answer. Returns `undefined` when the answer was not stored. Throws
 * `AnswerUnknownError` when the blob store fails or does not answer in time.
 */
export async function readAnswerMeta(
  blobs: BlobStore,
  answerId: string,
): Promise<AnswerMeta | undefined> {
  try {
    return await withTimeout(readTimeoutMs, () => readMeta(blobs, answerId))
  } catch (error) {
    throw new AnswerUnknownError(error)
  }
}

/** Thrown when the blob store failed, so that nobody knows whether the answer is stored. */
export class AnswerUnknownError extends Error {
  override readonly name = 'AnswerUnknownError'
  /** The short code of the store's error, such as `ECONNREFUSED`. */
  readonly code: string | undefined
  constructor(cause: unknown) {
    super('the blob store could not say whether the answer is stored', { cause })
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    this.code = typeof code === 'string' ? code : undefined
  }
}

/** Reads and parses `meta.json`. Checks its version only, because nothing except `storeAnswer` writes it. */
async function readMeta(blobs: BlobStore, answerId: string): Promise<AnswerMeta | undefined> {
  const blob = await blobs.read(answerMetaKey(answerId))
  if (blob === undefined) return undefined
  const meta: AnswerMeta = JSON.parse(await text(blob.content))
  if (meta.version !== 1) throw new Error(`meta.json of ${answerId} has an unknown version`)
  return meta
}
