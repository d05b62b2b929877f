import { setImmediate as nextTurn } from 'node:timers/promises'
import { mediaTypeOf, parametersOf } from './mediaType.ts'

/** One part of a form. */
export type FormPart = {
  readonly head: PartHead
  readonly content: Buffer
}

export type PartHead = {
  /** The name of the part. The first one, if the head has several. */
  readonly name: string | undefined
  /** Whether the part is form-data, and its head cannot be read in two ways. */
  readonly isClear: boolean
  /** The charsets that its types name. */
  readonly charsets: readonly string[]
  readonly transferEncodings: readonly string[]
}

/** Limit for the head of a part. Browsers and client libraries send less than a kilobyte. */
const headBytesMax = 16 * 1024

/**
 * Yields the parts of a form (RFC 7578), and at last `malformed` where the bytes are not a whole form. Every boundary
 * line must begin a part that can be read, or be the last line: a part that is silently left out would change what the
 * client pays for. So this function finds no line that has blanks after it, or that ends with a line feed alone.
 */
export async function* readParts(
  body: Buffer,
  boundary: string,
): AsyncGenerator<FormPart | 'malformed'> {
  const line = Buffer.from(`\r\n--${boundary}`, 'latin1')
  // The first line may be at the very beginning, without the line end that precedes the others. A line that is not a
  // line of its own begins no part, so the part behind it would be left out.
  const first = await indexOf(body, line.subarray(2), 0)
  const isOwnLine = first !== undefined && body.toString('latin1', first - 2, first) === '\r\n'
  let at = first === 0 ? -2 : isOwnLine ? first - 2 : undefined
  while (at !== undefined) {
    const start = at + line.length
    const next = await indexOf(body, line, start)
    const mark = body.toString('latin1', start, start + 2)
    if (mark === '--' && next === undefined) return
    const headLength = body.subarray(start, start + headBytesMax).indexOf('\r\n\r\n')
    const contentAt = start + headLength + 4
    if (mark !== '\r\n' || headLength === -1 || next === undefined || contentAt > next) break
    const head = readHead(body.toString('utf8', start + 2, start + headLength))
    yield { head, content: body.subarray(contentAt, next) }
    at = next
  }
  yield 'malformed'
}

/** Searching this many bytes takes at most six milliseconds, whatever they are. */
const sliceBytes = 2 * 1024 * 1024

/** Returns where `text` begins in the body, at `from` or behind it. The event loop turns between two slices. */
async function indexOf(body: Buffer, text: Buffer, from: number): Promise<number | undefined> {
  for (let at = from; at < body.length; at += sliceBytes) {
    if (at > from) await nextTurn()
    const found = body.subarray(at, at + sliceBytes + text.length - 1).indexOf(text)
    if (found !== -1) return at + found
  }
  return undefined
}

function readHead(text: string): PartHead {
  // A line that begins with a blank continues the line before it.
  const lines = text.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const valuesOf = (header: RegExp) =>
    lines.filter((line) => header.test(line)).map((line) => line.replace(/^[^:]*:/, '').trim())
  const [disposition = '', ...others] = valuesOf(/^content-disposition[ \t]*:/i)
  const { values, isWhole } = parametersOf(disposition)
  const names = values.get('name') ?? []
  const types = valuesOf(/^content-type[ \t]*:/i)
  return {
    name: names[0],
    isClear:
      isWhole &&
      others.length === 0 &&
      names.length === 1 &&
      mediaTypeOf(disposition) === 'form-data' &&
      lines.every((line) => /^[^\s:]+[ \t]*:[^\r\n\0]*$/.test(line)),
    charsets: types.flatMap((type) =>
      [...type.matchAll(/charset\*?\s*=\s*"?([^\s;"]*)/gi)].map(([, charset = '']) => charset),
    ),
    transferEncodings: valuesOf(/^content-transfer-encoding[ \t]*:/i),
  }
}
