import { html } from 'htm/preact'
import { words } from 'words'

const number = new Intl.NumberFormat(words.language)
const moment = new Intl.DateTimeFormat(words.language, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
})

/**
 * Returns a number with separators, and a dash for none.
 * @param {number | null | undefined} value
 */
export function numberText(value) {
  return value === null || value === undefined ? '–' : number.format(value)
}

/**
 * A moment in the time of the reader. The pointer shows it in UTC.
 * @param {{ readonly at: string | null | undefined }} props
 */
export function When({ at }) {
  if (!at) return '–'
  return html`<time datetime=${at} title=${at}>${moment.format(new Date(at))}</time>`
}

/**
 * Returns a duration such as `3.2 s` or `4 min 10 s`.
 * @param {number} ms
 */
export function durationText(ms) {
  const seconds = Math.max(ms, 0) / 1000
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  const units = /** @type {const} */ ([
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ])
  const first = units.findIndex(([size]) => seconds >= size)
  const [[size, unit], next] = [units[first] ?? units[3], units[first + 1]]
  const rest = next && Math.floor((seconds % size) / next[0])
  return `${Math.floor(seconds / size)} ${unit}${rest && next ? ` ${rest} ${next[1]}` : ''}`
}

/**
 * Returns how long ago a moment was.
 * @param {string | null | undefined} at
 */
export function sinceText(at) {
  return at ? durationText(Date.now() - Date.parse(at)) : '–'
}

/**
 * A state as a word with a coloured dot.
 * @param {{ readonly is: string, readonly children?: import('preact').ComponentChildren }} props
 */
export function State({ is, children }) {
  /** @type {Readonly<Record<string, string>>} */
  const known = { ...words.status, ...words.console.states }
  return html`<span class="state ${is}">${children ?? known[is] ?? is}</span>`
}
