import { createHash } from 'node:crypto'
import { upstreamAnswerTextBytesMax } from '../domain/limits.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import type { AnswerMeta } from '../domain/storedAnswer.ts'
import { answerImageKey, answerMetaKey } from '../domain/storedAnswer.ts'
import type { UpstreamOutcome } from '../domain/upstreamCall.ts'
import { retryUntil } from './retryUntil.ts'

type AnswerToStore = {
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

/** A timer this late was kept from firing: the process stood still, and the answer may be there already. */
const stallMs = 200

const slices = 10

/** Whatever happens, no answer is waited for longer than so many limits. */
const limitsMax = 3

/**
 * The answer to a question, or after `limitMs` an error: the question goes on, and what comes of it is
 * lost. For reads that cannot be cut off. Time in which this process was stopped does not count: the
 * limit is waited for in slices, and a stop in one of them begins all of it anew, within bounds.
 */
export async function within<Value>(limitMs: number, ask: () => Promise<Value>): Promise<Value> {
  const sliceMs = limitMs / slices
  const late = Promise.withResolvers<never>()
  let slicesMax = limitsMax * slices
  let timer: NodeJS.Timeout | undefined
  const arm = (left: number) => {
    const armedAtMs = performance.now()
    timer = setTimeout(() => {
      slicesMax -= 1
      const stoodStill = performance.now() > armedAtMs + sliceMs + stallMs
      const next = Math.min(stoodStill ? slices : left - 1, slicesMax)
      if (next > 0) arm(next)
      else late.reject(new Error(`no answer in ${limitMs} ms`))
    }, sliceMs)
  }
  arm(slices)
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
