import { html } from 'htm/preact'
import { words } from 'words'
import { numberText } from './texts.js'

/** @typedef {{ readonly day: string, readonly succeeded: number, readonly failed: number, readonly credits: number }} Day */

/**
 * What is stacked in a bar: the class of its colour, its name, and how much of it a day has.
 * @typedef {readonly [colour: string, name: string, of: (day: Day) => number]} Part
 */

const dayFormat = new Intl.DateTimeFormat(words.language, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/**
 * Shows the tasks and the credits of each day in UTC.
 * @param {readonly Day[]} days
 */
export function dayCharts(days) {
  const { overview, fields } = words.console
  return html`<div class="columns">
    ${chartOf(overview.tasksByDay, days, [
      ['good', words.status.succeeded, ({ succeeded }) => succeeded],
      ['bad', words.status.failed, ({ failed }) => failed],
    ])}
    ${chartOf(overview.creditsByDay, days, [['tone', fields.credits, ({ credits }) => credits]])}
  </div>`
}

/**
 * Bars, one for each day. Who does not see them gets the same numbers as text.
 * @param {string} label
 * @param {readonly Day[]} days
 * @param {readonly Part[]} parts from the bottom to the top
 */
function chartOf(label, days, parts) {
  const most = Math.max(1, ...days.map((day) => parts.reduce((sum, [, , of]) => sum + of(day), 0)))
  const told = days.map(
    (day) =>
      `${dayText(day)}: ${parts.map(([, name, of]) => `${numberText(of(day))} ${name}`).join(words.comma)}`,
  )
  return html`
    <figure class="chart">
      <figcaption class="label">
        ${label}
        ${parts.map(([colour, name]) => html`<span key=${name} class="key ${colour}">${name}</span>`)}
      </figcaption>
      <p class="axis">${numberText(most)}</p>
      <svg
        viewBox="0 0 ${days.length} ${most}"
        preserveAspectRatio="none"
        role="img"
        aria-label=${`${label}. ${told.join('; ')}`}
      >
        ${days.map(
          (day, i) =>
            html`<g key=${day.day}>
              <title>${told[i]}</title>
              ${barOf(day, i, most, parts)}
            </g>`,
        )}
      </svg>
      <p class="axis">
        ${[days[0], days.at(-1)].map((day) => html`<span key=${day?.day}>${day && dayText(day)}</span>`)}
      </p>
    </figure>
  `
}

/**
 * @param {Day} day
 * @param {number} i
 * @param {number} most
 * @param {readonly Part[]} parts
 */
function barOf(day, i, most, parts) {
  let top = most
  return parts.map(([colour, name, of]) => {
    const height = of(day)
    top -= height
    return html`<rect
      key=${name}
      class=${colour}
      x=${i + 0.15}
      y=${top}
      width="0.7"
      height=${height}
    />`
  })
}

/** @param {Day} day */
function dayText({ day }) {
  return dayFormat.format(new Date(`${day.slice(0, 10)}T00:00:00Z`))
}
