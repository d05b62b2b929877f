/** Joins very many short pieces of text without a rope of tiny strings or quadratic copying. */
export type TextGatherer = {
  readonly push: (piece: string) => void
  /** UTF-16 units gathered since the last `take`. */
  readonly length: () => number
  /** All of it; the gatherer is empty afterwards. */
  readonly take: () => string
}

const piecesPerBlock = 1024

export function createTextGatherer(): TextGatherer {
  let blocks: string[] = []
  let pieces: string[] = []
  let length = 0

  function push(piece: string): void {
    length += piece.length
    pieces.push(piece)
    if (pieces.length < piecesPerBlock) return
    blocks.push(pieces.join(''))
    pieces = []
  }

  function take(): string {
    const [only] = pieces
    const text =
      blocks.length === 0 && pieces.length === 1 && only !== undefined
        ? only
        : blocks.join('') + pieces.join('')
    blocks = []
    pieces = []
    length = 0
    return text
  }

  return { push, length: () => length, take }
}
