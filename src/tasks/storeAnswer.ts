import { createHash } from 'node:crypto'
import type { AnswerMeta } from '../domain/answerMeta.ts'
import { answerImageKey, answerMetaKey } from '../domain/answerMeta.ts'
import type { BlobStore } from '../domain/blobStore.ts'
import { BlobExistsError } from '../domain/blobStore.ts'
import type { UpstreamOutcome } from '../domain/upstreamOutcome.ts'
import { retryUntil } from './retryUntil.ts'

export type AnswerToStore = {
  readonly taskId: string
  readonly attempt: number
  readonly answerId: string
  /** How long storing may be retried: until the task's hard end. */
  readonly hardEndMs: number
  readonly outcome: Extract<UpstreamOutcome, { class: 'succeeded' }>
}

/**
 * Stores an answer before anything else is done with it: the image first, then `meta.json` as the commit
 * mark, both create-only (design 1.9). A store that fails is tried again until the hard end: the call is
 * paid for and is never repeated for want of a disk. Throws the store's last error.
 */
export async function storeAnswer(blobs: BlobStore, answer: AnswerToStore): Promise<AnswerMeta> {
  const { image, native } = answer.outcome
  const limitMs = answer.hardEndMs
  const imageKey = answerImageKey(answer.answerId)
  const metaKey = answerMetaKey(answer.answerId)
  try {
    const sha256 = await digest(image.open())
    await retryUntil(() => putOnce(blobs, imageKey, image.open()), { limitMs })
    const { mimeType, bytes, width, height } = image
    const { taskId, attempt } = answer
    const stored = { mimeType, bytes, sha256, width, height }
    const meta: AnswerMeta = { version: 1, taskId, attempt, image: stored, native }
    const text = Buffer.from(JSON.stringify(meta))
    await retryUntil(() => putOnce(blobs, metaKey, once(text)), { limitMs })
    return meta
  } finally {
    await image.discard()
  }
}

/**
 * The key belongs to this one attempt: finding it taken means that an earlier put came through although
 * its answer did not.
 */
async function putOnce(
  blobs: BlobStore,
  key: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    await blobs.put(key, content, {})
  } catch (error) {
    if (!(error instanceof BlobExistsError)) throw error
  }
}

async function digest(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
