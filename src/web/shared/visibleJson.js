/** What a terminal obeys, and what turns the direction of writing. */
const hiddenCharacter = /[\p{Cc}\p{Bidi_Control}]/gu

/** @param {string} character */
function visible(character) {
  if ('\n\r\t'.includes(character)) return character
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/**
 * Returns a JSON document, or `undefined` for any other text. What is invisible in its values becomes visible.
 * @param {string} text
 */
export function visibleJson(text) {
  try {
    return JSON.parse(text, (_name, value) =>
      typeof value === 'string' ? value.replaceAll(hiddenCharacter, visible) : value,
    )
  } catch {
    return undefined
  }
}
