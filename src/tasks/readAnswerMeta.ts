import type { AnswerMeta } from '../domain/answerMeta.ts'
import { answerMetaKey } from '../domain/answerMeta.ts'
import type { BlobStore } from '../domain/blobStore.ts'
import { upstreamAnswerTextBytesMax } from '../domain/limits.ts'
import { within } from './within.ts'

/** Twice what an answer's text may take: JSON escapes, and the fields of our own. */
const metaBytesMax = 2 * upstreamAnswerTextBytesMax + 65_536

/** The store failed: whether an answer is stored is not known. With the failure's short code, if it has one. */
export class AnswerUnknownError extends Error {
  override readonly name = 'AnswerUnknownError'
  readonly code: string | undefined
  constructor(cause: unknown) {
    super('the blob store could not say whether the answer is stored', { cause })
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    this.code = typeof code === 'string' ? code : undefined
  }
}

/** A store that takes longer counts as one that cannot answer; it may have no bound of its own. */
const readMsMax = 10_000

/**
 * The commit mark of a stored answer; `undefined` when nothing was stored. We wrote it ourselves and
 * create-only, so its shape is trusted once its version is known. Throws `AnswerUnknownError` when
 * the store cannot answer in time.
 */
export async function readAnswerMeta(
  blobs: BlobStore,
  answerId: string,
): Promise<AnswerMeta | undefined> {
  try {
    return await within(readMsMax, () => readMeta(blobs, answerId))
  } catch (error) {
    throw new AnswerUnknownError(error)
  }
}

async function readMeta(blobs: BlobStore, answerId: string): Promise<AnswerMeta | undefined> {
  const blob = await blobs.read(answerMetaKey(answerId))
  if (blob === undefined) return undefined
  if (blob.bytes > metaBytesMax)
    throw new Error(`Bug: meta.json of ${answerId} is ${blob.bytes} bytes`)
  const chunks: Uint8Array[] = []
  for await (const chunk of blob.content) chunks.push(chunk)
  const meta: AnswerMeta = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  if (meta.version !== 1) throw new Error(`meta.json of ${answerId} has an unknown version`)
  return meta
}
