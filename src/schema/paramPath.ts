/** Longest `param` of an answer: an unknown key is the client's own text, and may be megabytes. */
const paramLengthMax = 200

/** `['input_images', 0, 'data']` as `input_images[0].data` (design section 4, Small print). */
export function paramPath(path: readonly PropertyKey[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? String(step) : `.${String(step)}`
    if (text.length > paramLengthMax) return `${text.slice(0, paramLengthMax).toWellFormed()}…`
  }
  return text
}
