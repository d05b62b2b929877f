import { assertNever } from '../domain/assertNever.ts'
import { objectOf } from '../domain/json.ts'
import { upstreamAnswerBytesMax } from '../domain/limits.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { Answer } from './exchange.ts'
import type { AnswerVerdict, ModelAnswer } from './familyCall.ts'
import type { ContentCoding } from './standIn.ts'
import { parseContentEncoding, readLenientJson, unpack, wholeImage } from './standIn.ts'
import type { JsonIntakeFailure, JsonPath } from '../streams/intakeFailure.ts'

/**
 * Reads a 2xx answer: its document, and those of its images that are whole. We pay for the answer, so the rules are
 * lenient (see `readLenientJson`), and an answer that was cut off is read as far as it came. `isImage` says which
 * strings are images. Type and size of an image come from its bytes, because the MIME type that the Gemini API declares
 * can be wrong.
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
  const read = await readLenientJson(plain.value, { isImage })
  if (!read.ok) return broken(reasonOf(read.failure))
  const document = objectOf(read.value.document)
  if (document === undefined) return broken('broken_body')
  const images = read.value.images.flatMap(({ path, bytes }) => {
    const image = wholeImage(bytes)
    return image === undefined ? [] : [{ path, image: { ...image, bytes } }]
  })
  return succeed({ document, images })
}

type BrokenReason = 'broken_body' | 'answer_too_large'

/**
 * Returns a body without its content coding, at most `bytesMax` bytes. Our requests ask for no coding. A proxy may
 * compress nevertheless.
 */
export async function unpacked(
  body: Buffer,
  headers: Answer['headers'],
  bytesMax: number,
): Promise<Result<Buffer, BrokenReason>> {
  const coding = codingOf(body, headers)
  if (coding === undefined) return succeed(body)
  const plain = await unpack(body, coding, bytesMax, { trailing: 'ignore' })
  if (plain.ok) return plain
  return fail(plain.failure.tag === 'too_large' ? 'answer_too_large' : 'broken_body')
}

/**
 * Returns the coding that a body really has, by its first bytes and its header. The header alone can be wrong: a proxy
 * that decompresses an answer may leave the header, and a proxy that compresses may not set it.
 */
export function codingOf(body: Buffer, headers: Answer['headers']): ContentCoding | undefined {
  const [first, second] = body
  // This byte is `{`, with which no compressed JSON begins.
  if (first === 0x7b) return undefined
  if (first === 0x1f && second === 0x8b) return 'gzip'
  const header = headers['content-encoding']
  const named = parseContentEncoding(Array.isArray(header) ? header.join(', ') : header)
  return named.ok ? named.value[0] : undefined
}

function reasonOf(failure: JsonIntakeFailure): BrokenReason {
  switch (failure.tag) {
    case 'diverted_too_large':
    case 'diverted_total_too_large':
    case 'text_too_long':
      return 'answer_too_large'
    case 'empty':
    case 'syntax':
    case 'invalid_utf8':
    case 'duplicate_key':
    case 'too_deep':
    case 'too_many_tokens':
    case 'number_out_of_range':
    case 'unstorable_text':
    case 'invalid_base64':
    case 'too_many_diverted':
      return 'broken_body'
    default:
      return assertNever(failure)
  }
}
