import type { JsonObject, JsonPath } from '../domain/json.ts'
import { objectOf } from '../domain/json.ts'
import { outputImageBytesMax, upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Answer } from './exchange.ts'
import type { BodyPiece } from './requestBody.ts'
import type { ErrorVerdict } from '../domain/upstream/classifyErrorAnswer.ts'
import type { NativeResponse } from '../domain/upstream/nativeResponse.ts'
import type {
  KeptImage,
  OutcomeEvidence,
  UpstreamOutcome,
} from '../domain/upstream/upstreamCall.ts'
import { decodeLenientBase64 } from '../streams/base64.ts'
import type { ContentCoding } from '../streams/codings.ts'
import { contentCoding, unpack } from '../streams/codings.ts'
import { wholeImage } from '../streams/images.ts'
import { readLenientJson } from '../streams/json.ts'

/** What differs between the two families: the body of a request, and how a 2xx answer is judged. */
export type FamilyCall = {
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Returns whether the string at a path of the answer is an image in base64. */
  readonly isImage: (path: JsonPath) => boolean
  /** Judges a 2xx answer. Chooses at most one image of the answer, or makes a new image from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

/** A 2xx answer, divided into the document and its images. */
export type ModelAnswer = {
  /** The answer with an empty string in the place of each image. */
  readonly document: JsonObject
  /** What stands in the places of images, in document order. */
  readonly images: readonly {
    readonly path: JsonPath
    /** Decodes the image. Returns `undefined` when it is not whole. */
    readonly read: () => Promise<AnswerImage | undefined>
  }[]
}

export type AnswerImage = Omit<KeptImage, 'discard'>

/**
 * What one answer means: the class of the outcome and its reason. The evidence of the call is added later.
 */
export type AnswerVerdict =
  | {
      readonly class: 'succeeded'
      readonly reason: 'image'
      readonly image: AnswerImage
      readonly native: NativeResponse
    }
  | (ErrorVerdict &
      Pick<FailedOutcome, 'retryAfterMs' | 'nativeRejection'> &
      Pick<OutcomeEvidence, 'vendorCode'>)

export type FailedOutcome = Exclude<UpstreamOutcome, { readonly class: 'succeeded' }>

/**
 * Reads a 2xx answer. We pay for it, so the rules are lenient (see `readLenientJson`), and a document that arrived
 * whole counts, however the exchange ended. `isImage` says which strings are images. Type and size of an image come
 * from its bytes, because the MIME type that the Gemini API declares can be wrong.
 */
export async function readModelAnswer(
  body: Buffer,
  { headers, cutBy }: Pick<Answer, 'headers' | 'cutBy'>,
  isImage: (path: JsonPath) => boolean,
): Promise<Result<ModelAnswer, AnswerVerdict>> {
  const broken = (reason: BrokenReason) =>
    fail({ class: 'unknown', reason: cutBy ?? reason } as const)
  const plain = await unpacked(body, headers, upstreamAnswerBytesMax)
  if (!plain.ok) return broken(plain.failure)
  const read = readLenientJson(plain.value, isImage)
  if (!read.ok) {
    return broken(read.failure.tag === 'body_too_large' ? 'answer_too_large' : 'broken_body')
  }
  const document = objectOf(read.value.document)
  if (document === undefined) return broken('broken_body')
  const images = read.value.images.map(({ path, sent }) => ({
    path,
    read: async () => {
      const bytes = await decodeLenientBase64(sent, outputImageBytesMax)
      const image = bytes && wholeImage(bytes)
      return bytes && image && { ...image, bytes }
    },
  }))
  return succeed({ document, images })
}

type BrokenReason = 'broken_body' | 'answer_too_large'

/**
 * Returns a body without its content coding, at most `bytesMax` bytes. Our requests ask for none, but a proxy may
 * compress nevertheless. A coding that gives no bytes is not there.
 */
export async function unpacked(
  body: Buffer,
  headers: Answer['headers'],
  bytesMax: number,
): Promise<Result<Buffer, BrokenReason>> {
  const coding = looksLikeJson(body) ? undefined : codingOf(body, headers['content-encoding'])
  if (coding === undefined) return succeed(body)
  const plain = await unpack(body, coding, bytesMax, { lenient: true })
  if (plain.ok) return succeed(plain.value.length === 0 ? body : plain.value)
  return fail(plain.failure === 'too_large' ? 'answer_too_large' : 'broken_body')
}

/** Returns whether a body begins as JSON does, after a byte-order mark and white space. No coding begins so. */
export function looksLikeJson(body: Buffer): boolean {
  return /^(?:\xef\xbb\xbf)?\s*\{/.test(body.toString('latin1', 0, 64))
}

/**
 * Returns the coding that a body has, by its first bytes and its header. The header alone can be wrong: a proxy that
 * decompresses an answer may leave the header, and a proxy that compresses may not set it.
 */
function codingOf(
  [first, second]: Buffer,
  header: string | string[] | undefined,
): ContentCoding | undefined {
  if (first === 0x1f && second === 0x8b) return 'gzip'
  const named = contentCoding(Array.isArray(header) ? header.join(', ') : header)
  return named.ok ? named.value : undefined
}
