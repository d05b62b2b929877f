/** Control characters, and those that change the direction of text. */
const unprintable = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/**
 * Replaces control characters with escapes such as `\u001b`, so that no name, address or reason can control the
 * operator's terminal. Escaped JSON still parses to the same values. Keeps line ends.
 */
export function printable(text: string): string {
  return text.replaceAll(unprintable, (character) =>
    character === '\n' ? character : escaped(character),
  )
}

/** Does the same for a part of a line, which has no line ends. */
export function printableCell(text: string): string {
  return text.replaceAll(unprintable, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
