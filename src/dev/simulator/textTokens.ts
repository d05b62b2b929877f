const charactersPerToken = 4

/** A plausible token count of a text. */
export function textTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / charactersPerToken))
}
