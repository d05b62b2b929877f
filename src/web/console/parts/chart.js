import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import { words } from 'words'

/**
 * One series of a chart. `colour` is the name of a custom property of the style.
 * @typedef {{ readonly label: string, readonly colour: string, readonly values: readonly number[] }} Series
 */

const heightPx = 150
const day = new Intl.DateTimeFormat(words.language, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/**
 * Shows the succeeded and failed tasks of each day.
 * @param {readonly { readonly day: string, readonly succeeded: number, readonly failed: number }[]} rows
 */
export function tasksChart(rows) {
  return html`<${DayChart}
    label=${words.console.overview.tasksByDay}
    days=${rows.map(({ day }) => day)}
    series=${[
      { label: words.status.succeeded, colour: '--good', values: rows.map((row) => row.succeeded) },
      { label: words.status.failed, colour: '--bad', values: rows.map((row) => row.failed) },
    ]}
  />`
}

/**
 * Shows the credits of each day.
 * @param {readonly { readonly day: string, readonly credits: number }[]} rows
 */
export function creditsChart(rows) {
  return html`<${DayChart}
    label=${words.console.overview.creditsByDay}
    days=${rows.map(({ day }) => day)}
    series=${[
      {
        label: words.console.fields.credits,
        colour: '--tone',
        values: rows.map((row) => row.credits),
      },
    ]}
  />`
}

/**
 * Bars by day in UTC, stacked. Who does not see them gets the same numbers as text.
 * @param {{
 *   readonly label: string,
 *   readonly days: readonly string[],
 *   readonly series: readonly Series[],
 * }} props
 */
function DayChart({ label, days, series }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null))
  const drawn = JSON.stringify([days, series])
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const dark = matchMedia('(prefers-color-scheme: dark)')
    /** @type {UPlot | undefined} */
    let chart
    const draw = () => {
      chart?.destroy()
      chart = drawChart(element, days, series)
    }
    draw()
    dark.addEventListener('change', draw)
    const resize = new ResizeObserver(() =>
      chart?.setSize({ width: element.clientWidth, height: heightPx }),
    )
    resize.observe(element)
    return () => {
      dark.removeEventListener('change', draw)
      resize.disconnect()
      chart?.destroy()
    }
  }, [drawn])
  const told = days.map(
    (each, i) =>
      `${dayText(each)}: ${series.map(({ label, values }) => `${values[i] ?? 0} ${label}`).join(', ')}`,
  )
  return html`
    <figure class="chart">
      <figcaption class="label">
        ${label}
        ${series.map(
          (each) =>
            html`<span key=${each.label} class="key ${each.colour.replace('--', '')}"
              >${each.label}</span
            >`,
        )}
      </figcaption>
      <div ref=${place} role="img" aria-label=${`${label}. ${told.join('; ')}`}></div>
    </figure>
  `
}

/** @param {string} date a day as ISO 8601 */
function dayText(date) {
  return day.format(new Date(`${date.slice(0, 10)}T00:00:00Z`))
}

/**
 * @param {HTMLElement} element
 * @param {readonly string[]} days
 * @param {readonly Series[]} series
 */
function drawChart(element, days, series) {
  const colour = (/** @type {string} */ name) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${name})`
    element.append(probe)
    const value = getComputedStyle(probe).color
    probe.remove()
    return value
  }
  // A stack is drawn from its top: each series begins with the sum of itself and those below.
  const sums = series.map((_, i) =>
    days.map((_, at) =>
      series.slice(0, i + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    ),
  )
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px sans-serif',
  }
  return new UPlot(
    {
      width: element.clientWidth,
      height: heightPx,
      cursor: { show: false },
      legend: { show: false },
      scales: {
        x: { time: false, range: [-0.6, days.length - 0.4] },
        y: { range: (_u, _min, max) => [0, Math.max(max, 1) * 1.1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          values: (_chart, at) =>
            at.map((i) => (Number.isInteger(i) ? dayText(days[i] ?? '') : '')),
        },
        {
          ...axis,
          size: 56,
          incrs: [
            1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6,
            1e7, 1e8,
          ],
        },
      ],
      series: [
        {},
        ...series.toReversed().map(({ label, colour: name }) => ({
          label,
          fill: colour(name),
          width: 0,
          points: { show: false },
          ...(UPlot.paths.bars && { paths: UPlot.paths.bars({ size: [0.7, 40] }) }),
        })),
      ],
    },
    [days.map((_, i) => i), ...sums.toReversed()],
    element,
  )
}
