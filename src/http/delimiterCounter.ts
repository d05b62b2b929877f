export type DelimiterCounter = {
  readonly see: (chunk: Uint8Array) => void
  /** Lines that begin with the boundary: one before each part, one at the end. */
  readonly count: () => number
}

/**
 * Counts what may begin a part of a form. The form's parser passes over parts that are no form fields
 * without a word, and over fields behind a boundary line that it cannot read; each would be a parameter
 * dropped in silence, and a wrong bill (design section 4). Whoever knows how many parts were told of
 * sees by this count that one is missing.
 */
export function createDelimiterCounter(boundary: string): DelimiterCounter {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  let count = 0
  // The first delimiter may stand at the very beginning, without the line end that is part of the others.
  let tail: Uint8Array = Buffer.from('\r\n')
  return {
    see: (chunk) => {
      const text = Buffer.concat([tail, chunk])
      let from = 0
      for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, from)) {
        count += 1
        from = at + delimiter.length
      }
      tail = text.subarray(Math.max(from, text.length - delimiter.length + 1))
    },
    count: () => count,
  }
}
