import type { RequestFailure } from '../../domain/failure.ts'
import { invalidValue, paramPath } from '../../schema/requestFailures.ts'

/** What the form parser does not report about the parts of a form, read from the bytes of the form. */
export type FormBoundaries = {
  /** Reads the next bytes of the form. Call it before the parser gets these bytes. */
  readonly see: (chunk: Uint8Array) => void
  /** The number of boundary lines so far. A form has one before each part, and one at its end. */
  readonly delimiters: () => number
  /** The failure of the first part that names a transfer encoding, or of the first text in a charset other than UTF-8. */
  readonly failure: () => RequestFailure | undefined
}

/** Limit for the head of a part. The parser has the same limit. */
export const partHeadBytesMax = 16 * 1024

/**
 * Creates a second reader of a form's bytes beside the parser. It finds two kinds of parts that would otherwise
 * change the request without an error:
 * - A part whose head names a transfer encoding, or a text whose head names a charset other than UTF-8. The parser
 *   would read another text than the client meant. Such a part is a failure. An image may name any charset, because
 *   bytes have none.
 * - A part that the parser skips: a part that is not form-data, or a part after a boundary line that the parser
 *   cannot read. The form then has more boundary lines than the parser has found parts, plus the line at the end.
 */
export function createFormBoundaries(
  boundary: string,
  isImage: (name: string) => boolean,
): FormBoundaries {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  let delimiters = 0
  let failure: RequestFailure | undefined
  let inHead = false
  // The first boundary line may be at the very beginning, without the line end that precedes the others.
  let held: Buffer = Buffer.from('\r\n')

  /**
   * Reads a chunk together with the bytes that the chunk before it left in `held`. Leaves in `held` the bytes that
   * may be the beginning of a head or of a boundary line.
   */
  function see(chunk: Uint8Array): void {
    let text = Buffer.concat([held, chunk])
    for (;;) {
      const at = text.indexOf(delimiter)
      if (inHead) {
        const end = headEnd(text, at)
        if (end === undefined) {
          held = text
          return
        }
        failure ??= failureOfHead(text.toString('utf8', 0, end), isImage)
        inHead = false
      }
      if (at === -1) {
        held = text.subarray(Math.max(0, text.length - delimiter.length + 1))
        return
      }
      delimiters += 1
      inHead = true
      text = text.subarray(at + delimiter.length)
    }
  }

  return { see, delimiters: () => delimiters, failure: () => failure }
}

/**
 * Returns where the head at the beginning of `text` ends, or `undefined` if its end has not arrived yet.
 * `delimiterAt` is the position of the next boundary line, or -1 if there is none in `text`.
 */
function headEnd(text: Buffer, delimiterAt: number): number | undefined {
  const isWhole = delimiterAt !== -1 || text.length >= partHeadBytesMax
  const end = Math.min(delimiterAt === -1 ? text.length : delimiterAt, partHeadBytesMax)
  const blankLineAt = text.subarray(0, end).indexOf('\r\n\r\n')
  if (blankLineAt !== -1) return blankLineAt
  return isWhole ? end : undefined
}

/**
 * Returns the failure for a head that names a transfer encoding, or for a text a charset other than UTF-8. The parser
 * decodes a text in the charset that its part names, and ignores a transfer encoding. Either way the prompt would not be the
 * text that the client meant. RFC 7578 section 4.7 forbids transfer encodings, but some clients name one that changes
 * nothing, so these are accepted.
 */
function failureOfHead(
  head: string,
  isImage: (name: string) => boolean,
): RequestFailure | undefined {
  const name = /[;\s]name\s*=\s*"?([^";\r\n]*)/i.exec(head)?.[1] ?? ''
  const typeAt = head.search(/^content-type:/im)
  const type = typeAt === -1 ? '' : head.slice(typeAt)
  const charsets = [...type.matchAll(/charset\*?\s*=\s*"?([^\s;"]*)/gi)]
  const transfers = [...head.matchAll(/^content-transfer-encoding:\s*(\S*)/gim)]
  const isPlain =
    (isImage(plainNameOf(head)) || charsets.every(isUtf8)) &&
    transfers.every(([, encoding = '']) => /^(?:7bit|8bit|binary)$/i.test(encoding))
  if (isPlain) return undefined
  return invalidValue(
    paramPath([name]),
    'the part must have no Content-Transfer-Encoding, and a text must be UTF-8',
  )
}

function isUtf8([, charset = '']: RegExpExecArray): boolean {
  return /^utf-?8$/i.test(charset)
}

/** A disposition that cannot be read in two ways: one name, then at most one filename, both in quotes. */
const plainDisposition =
  /^content-disposition:[ \t]*form-data;[ \t]*name="([^"\\\r\n]*)"(?:;[ \t]*filename="[^"\\\r\n]*")?[ \t]*(?:\r\n(?![ \t])|(?![^]))/im

/**
 * Returns the name of a part whose head has one plain disposition, and an empty text otherwise. Not the name in an
 * error: what the parser takes for a text must not count as an image here.
 */
function plainNameOf(head: string): string {
  const dispositions = head.match(/^content-disposition/gim) ?? []
  return dispositions.length === 1 ? (plainDisposition.exec(head)?.[1] ?? '') : ''
}
