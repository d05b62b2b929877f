import type { Json, JsonObject } from '../domain/json.ts'
import { isArray, objectOf } from '../domain/json.ts'
import { outputImageBytesMax, upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { AnswerImage, ChosenPicture, Picture } from './answerPictures.ts'
import { imageOf, isPicture, pictureOf } from './answerPictures.ts'
import type { Answer } from './exchange.ts'
import type { BodyPiece } from './requestBody.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { ErrorVerdict } from '../domain/upstream/classifyErrorAnswer.ts'
import type { NativeResponse } from '../domain/upstream/nativeResponse.ts'
import type { OutcomeEvidence, UpstreamOutcome } from '../domain/upstream/upstreamCall.ts'
import type { ContentCoding } from '../bytes/codings.ts'
import { contentCoding, unpack } from '../bytes/codings.ts'
import { eventsOf, isEventStream } from '../bytes/eventStream.ts'
import { readLenientJson } from '../bytes/readJson.ts'
import type { ImageString } from '../bytes/parseJson.ts'

/** One call in a family's format: the body of the request, and how a 2xx answer is judged. */
export type FamilyCall = {
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
  /** Judges a 2xx answer. Chooses at most one image of the answer, or makes a new image from it. */
  readonly judge: (answer: ModelAnswer) => Promise<AnswerVerdict>
}

/** A 2xx answer, divided into the document and its pictures. */
export type ModelAnswer = {
  /** The answer with an empty string in the place of each picture. Empty when the body is a picture. */
  readonly document: JsonObject
  /** In the order of the document. */
  readonly pictures: readonly Picture[]
}

/**
 * What one answer means: the class of the outcome and its reason. The evidence of the call is added later.
 */
export type AnswerVerdict =
  | (ChosenPicture['met'] & {
      readonly class: 'succeeded'
      readonly reason: 'image'
      readonly image: AnswerImage
      readonly native: NativeResponse
    })
  | (ErrorVerdict &
      Pick<FailedOutcome, 'retryAfterMs' | 'nativeRejection'> &
      Pick<OutcomeEvidence, 'vendorCode'>)

export type FailedOutcome = Exclude<UpstreamOutcome, { readonly class: 'succeeded' }>

/**
 * Reads a 2xx answer. We pay for it, so the rules are lenient (see `readLenientJson`), and a document that arrived
 * whole counts, however the exchange ended. Beside the JSON that vendors document, the body may be an image, a stream of
 * events, or a list of documents. Of several documents the last one with an image counts, else the last error. Type and
 * size of an image come from its bytes, because the MIME type that the Gemini API declares can be wrong.
 */
export async function readModelAnswer(
  body: Buffer,
  { headers, cutBy }: Pick<Answer, 'headers' | 'cutBy'>,
): Promise<Result<ModelAnswer, AnswerVerdict>> {
  const broken = (reason: BrokenReason) =>
    fail({ class: 'unknown', reason: cutBy ?? reason } as const)
  const plain = await unpacked(body, headers, upstreamAnswerBytesMax)
  if (!plain.ok) return broken(plain.failure)
  const image = plain.value.length <= outputImageBytesMax ? imageOf(plain.value) : undefined
  if (image !== undefined) {
    const picture = {
      path: [],
      kind: 'final',
      shape: 'image_body',
      read: async () => image,
    } as const
    return succeed({ document: {}, pictures: [picture] })
  }
  const read = isEventStream(plain.value) ? readEvents(plain.value) : readDocuments(plain.value)
  if (!read.ok) {
    return broken(read.failure.tag === 'body_too_large' ? 'answer_too_large' : 'broken_body')
  }
  const found =
    read.value.findLast(({ pictures }) => pictures.some(({ kind }) => kind === 'final')) ??
    read.value.findLast(({ document }) => errorOf(document) !== undefined)
  // What a stream said before it broke off is not its last word.
  const last = isEventStream(plain.value) && cutBy !== undefined ? undefined : read.value.at(-1)
  const answer = found ?? last
  return answer === undefined ? broken('broken_body') : succeed(answer)
}

/** Returns the error that a document has, or, as an event of a stream, is. */
export function errorOf(document: JsonObject): JsonObject | undefined {
  return objectOf(document['error']) ?? (document['type'] === 'error' ? document : undefined)
}

type Documents = Result<readonly ModelAnswer[], RequestFailure>

function readEvents(body: Buffer): Documents {
  const read = eventsOf(body).map(({ name, data }) => readDocuments(data, name))
  return succeed(read.flatMap((each) => (each.ok ? each.value : [])))
}

/** Reads a document, or a list of documents. `event` is the name of the event that it came in. */
function readDocuments(body: Buffer, event?: string): Documents {
  const read = readLenientJson(body, isPicture)
  if (!read.ok) return read
  const { document, images } = read.value
  const ofDocument = (value: Json, strings: readonly ImageString[]): readonly ModelAnswer[] => {
    const object = objectOf(value)
    const pictures = strings.map((each) => pictureOf(each, value, event))
    return object === undefined ? [] : [{ document: object, pictures }]
  }
  if (document === null || typeof document !== 'object' || !isArray(document)) {
    return succeed(ofDocument(document, images))
  }
  const ofItem = Map.groupBy(images, ({ path }) => path[0])
  const items = document.map((item, at) => {
    const strings = ofItem.get(at) ?? []
    return ofDocument(
      item,
      strings.map(({ path, sent }) => ({ path: path.slice(1), sent })),
    )
  })
  return succeed(items.flat())
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
  const coding = looksPlain(body) ? undefined : codingOf(body, headers['content-encoding'])
  if (coding === undefined) return succeed(body)
  const plain = await unpack(body, coding, bytesMax, { lenient: true })
  if (plain.ok) return succeed(plain.value.length === 0 ? body : plain.value)
  return fail(plain.failure === 'too_large' ? 'answer_too_large' : 'broken_body')
}

/** Returns whether a body begins as JSON, events or an image do. No coding begins so. */
export function looksPlain(body: Buffer): boolean {
  return isEventStream(body) || plainStart.test(body.toString('latin1', 0, 64))
}

/** JSON may stand behind a byte-order mark and white space. */
const plainStart = /^(?:(?:\xef\xbb\xbf)?\s*[{[]|\x89PNG|\xff\xd8\xff|RIFF.{4}WEBP)/s

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
