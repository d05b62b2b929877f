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
  try {
    const { sha256 } = await retryUntil(
      () => blobs.put(answerImageKey(answer.answerId), image.open(), {}),
      { limitMs: answer.hardEndMs, isFinal: isTaken },
    )
    const { mimeType, bytes, width, height } = image
    const meta: AnswerMeta = {
      version: 1,
      taskId: answer.taskId,
      attempt: answer.attempt,
      image: { mimeType, bytes, sha256, width, height },
      native,
    }
    const text = Buffer.from(JSON.stringify(meta))
    await retryUntil(() => blobs.put(answerMetaKey(answer.answerId), once(text), {}), {
      limitMs: answer.hardEndMs,
      isFinal: isTaken,
    })
    return meta
  } finally {
    await image.discard()
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof BlobExistsError
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
