import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'

/** @import { ComponentChildren } from 'preact' */

const number = new Intl.NumberFormat(words.language)
const percent = new Intl.NumberFormat(words.language, { style: 'percent' })
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

/** @param {number} value a number of hundredths */
export function percentText(value) {
  return percent.format(value / 100)
}

/** @param {string | number | null | undefined} text */
export function code(text) {
  return text === null || text === undefined ? '' : html`<code class="break">${text}</code>`
}

/**
 * Shows a moment in the time of the reader. The pointer shows it in UTC.
 * @param {string | null | undefined} at
 */
export function when(at) {
  return at ? html`<time datetime=${at} title=${at}>${moment.format(new Date(at))}</time>` : '–'
}

/**
 * Shows a state as a word with a coloured dot.
 * @param {string} is
 * @param {string} [text]
 */
export function state(is, text) {
  return html`<span class="state ${is}"
    >${text ?? nameIn({ ...words.status, ...words.console.states }, is)}</span
  >`
}

/**
 * Returns the word for a name of the API, or the name itself where the words have none.
 * @param {Readonly<Record<string, string>>} names
 * @param {string} name
 */
export function nameIn(names, name) {
  return names[name] ?? name
}

/**
 * @param {ComponentChildren} text
 * @param {readonly string[]} path
 * @param {Readonly<Record<string, string | undefined>>} [query]
 */
export function link(text, path, query) {
  return html`<a class="break" href=${linkTo(path, query)}>${text}</a>`
}

/**
 * @param {string} id
 * @param {string} href
 */
export function idLink(id, href) {
  return html`<a class="break" href=${href}><code>${id}</code></a>`
}

/**
 * @param {string | null | undefined} id
 * @param {Readonly<Record<string, string>>} [query]
 */
export function taskLink(id, query) {
  return id ? idLink(id, linkTo(['tasks', id], query)) : ''
}

/** @param {string} name */
export function accountLink(name) {
  return link(name, ['accounts', name])
}

const units = /** @type {const} */ ([
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
])

/**
 * Returns a duration such as `3.2s` or `4m 10s`.
 * @param {number} ms
 */
export function durationText(ms) {
  const seconds = Math.max(ms, 0) / 1000
  if (seconds < 59.5) return amountOf(seconds, 'second', seconds < 9.95 ? 1 : 0)
  const first = units.findIndex(([size]) => seconds >= size)
  const [[size, unit], next] = [units[first] ?? units[3], units[first + 1]]
  const rest = next && Math.floor((seconds % size) / next[0])
  return inRow.format([
    amountOf(Math.floor(seconds / size), unit),
    ...(rest && next ? [amountOf(rest, next[1])] : []),
  ])
}

const inRow = new Intl.ListFormat(words.language, { type: 'unit', style: 'narrow' })

/**
 * @param {number} amount
 * @param {string} unit
 * @param {number} [digits] after the point
 */
function amountOf(amount, unit, digits = 0) {
  return new Intl.NumberFormat(words.language, {
    style: 'unit',
    unit,
    unitDisplay: 'narrow',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(amount)
}

/**
 * Returns how long ago a moment was.
 * @param {string | null | undefined} at
 */
export function sinceText(at) {
  return at ? durationText(Date.now() - Date.parse(at)) : '–'
}
