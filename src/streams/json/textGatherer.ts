export type TextGatherer = {
  readonly push: (piece: string) => void
  /** Returns all the text and empties the gatherer. */
  readonly take: () => string
}

const piecesPerBlock = 1024

/**
 * Joins pieces of text. The parser delivers one piece per escaped character. If such pieces were added to a
 * string one by one, V8 would make an object per character. So they are joined in blocks.
 */
export function createTextGatherer(): TextGatherer {
  let text = ''
  let pieces: string[] = []

  function take(): string {
    const whole = text + pieces.join('')
    text = ''
    pieces = []
    return whole
  }

  function push(piece: string): void {
    if (pieces.push(piece) === piecesPerBlock) text = take()
  }

  return { push, take }
}
