import { Busboy } from '@fastify/busboy'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../domain/defined.ts'

/** What the parser reads of a form. */
export type FormParts = {
  readonly parts: readonly FormPart[]
  /** Whether the form is damaged, ends too early, or has parts that are not in `parts`. */
  readonly isMalformed: boolean
}

export type FormPart = {
  /** Absent when the part has none. */
  readonly name: string | undefined
  readonly chunks: readonly Buffer[]
  /** The Content-Transfer-Encoding in lower case. `7bit` when the part names none. */
  readonly transferEncoding: string
  /** The charset that the type of the part names. */
  readonly charset?: string
}

/** Limits for one part. Browsers and client libraries send three headers and less than a kilobyte. */
const headersMax = 20
const headBytesMax = 16 * 1024

/** A valid form has fewer parts. The parser reads more, so that an error can name the first field that is wrong. */
const partsMax = 32

/** How much is read before the event loop turns. */
const sliceBytes = 1024 * 1024

/** Reads the parts of a form (RFC 7578) that has arrived whole. The boundary has no quotation marks. */
export async function readParts(body: Buffer, boundary: string): Promise<FormParts> {
  const parts: (FormPart & { readonly chunks: Buffer[] })[] = []
  let isMalformed = false
  const onMalformed = () => void (isMalformed = true)
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    // Texts are read like files, because the parser would replace bytes of a text that are not UTF-8.
    isPartAFile: () => true,
    limits: { parts: partsMax, files: partsMax, headerPairs: headersMax, headerSize: headBytesMax },
  })
  parser.on('file', (name: string | undefined, content, _fileName, transferEncoding) => {
    const chunks: Buffer[] = []
    parts.push({ name, chunks, transferEncoding })
    content.on('data', (chunk: Buffer) => chunks.push(chunk))
    // An error of the form reaches this stream too. Without a listener here, it would end the process.
    content.on('error', onMalformed)
  })
  parser.once('partsLimit', onMalformed)
  await pipeline(slicesOf(body), parser).catch(onMalformed)
  const heads = isMalformed ? [] : await findHeads(body, boundary)
  if (heads.length !== parts.length + 1) return { parts, isMalformed: true }
  const charsets = heads.map((head) => /charset\*?\s*=\s*"?([^\s;"]*)/i.exec(head)?.[1])
  return {
    parts: parts.map((part, i) => ({ ...part, ...defined({ charset: charsets[i] }) })),
    isMalformed: false,
  }
}

async function* slicesOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += sliceBytes) {
    yield body.subarray(at, at + sliceBytes)
    await nextTurn()
  }
}

/**
 * Finds what stands behind each boundary line of a form: the head of a part, and nothing at the end. The parser skips a
 * part that is not form-data, and a part after a line that it cannot read. Such a form has more lines, and would be
 * another request without the part. Nor does the parser tell the charset of a part.
 */
async function findHeads(body: Buffer, boundary: string): Promise<readonly string[]> {
  const line = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const heads: string[] = []
  const add = (start: number) => {
    const [head = ''] = body.toString('latin1', start, start + headBytesMax).split('\r\n\r\n', 1)
    heads.push(head)
  }
  // The first line may be at the very beginning, without the line end that precedes the others.
  if (body.indexOf(line.subarray(2)) === 0) add(line.length - 2)
  for (let at = 0; at < body.length; at += sliceBytes) {
    const slice = body.subarray(at, at + sliceBytes + line.length - 1)
    for (let found = slice.indexOf(line); found !== -1; found = slice.indexOf(line, found + 1)) {
      if (heads.length > partsMax) return heads
      add(at + found + line.length)
    }
    await nextTurn()
  }
  return heads
}
