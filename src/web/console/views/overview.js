import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useRead } from '../admin.js'
import { DayChart } from '../parts/chart.js'
import { Told } from '../parts/listing.js'
import { Table } from '../parts/table.js'
import { numberText, sinceText, State, When } from '../parts/texts.js'
import { Tiles } from '../parts/tiles.js'

/** @import { Reading } from '../admin.js' */
/** @import { Overview } from '../records.ts' */

const everyMs = 5_000

/** What happens now, and what needs an operator. */
export function OverviewView() {
  /** @type {Reading<Overview>} */
  const { value, failure } = useRead('overview', everyMs)
  const text = words.console.overview
  if (!value)
    return html`<h2>${words.console.views.overview}</h2>
      <${Told} failure=${failure} />`
  const { tasks, oldest_waiting: oldest, days, paused, cooldowns } = value
  const today = days.at(-1)
  const names = days.map(({ day }) => day)
  return html`
    <h2>${words.console.views.overview}</h2>
    <${Told} failure=${failure} />
    <${Tiles}
      tiles=${[
        [text.queued, numberText(tasks.queued), linkTo(['tasks'], { status: 'queued' })],
        [
          text.processing,
          numberText(tasks.processing),
          linkTo(['tasks'], { status: 'processing' }),
        ],
        [
          text.oldest,
          oldest ? sinceText(oldest.created_at) : '–',
          oldest ? linkTo(['tasks', oldest.task_id]) : undefined,
        ],
        [text.succeededToday, numberText(today?.succeeded)],
        [text.failedToday, numberText(today?.failed), linkTo(['tasks'], { status: 'failed' })],
        [text.creditsToday, numberText(today?.credits)],
      ]}
    />
    <section aria-labelledby="attention">
      <h3 id="attention">${text.attention}</h3>
      <${Attention} paused=${paused} cooldowns=${cooldowns} webhooks=${value.webhooks_in_trouble} />
    </section>
    <div class="columns">
      <${DayChart}
        label=${text.tasksByDay}
        days=${names}
        series=${[
          {
            label: words.status.succeeded,
            colour: '--good',
            values: days.map((day) => day.succeeded),
          },
          { label: words.status.failed, colour: '--bad', values: days.map((day) => day.failed) },
        ]}
      />
      <${DayChart}
        label=${text.creditsByDay}
        days=${names}
        series=${[
          {
            label: words.console.fields.credits,
            colour: '--tone',
            values: days.map((day) => day.credits),
          },
        ]}
      />
    </div>
    <section>
      <h3>${text.calls}</h3>
      <${Calls} calls=${value.calls} />
    </section>
  `
}

/**
 * @param {{
 *   readonly paused: Overview['paused'],
 *   readonly cooldowns: Overview['cooldowns'],
 *   readonly webhooks: Overview['webhooks_in_trouble'],
 * }} props
 */
function Attention({ paused, cooldowns, webhooks }) {
  const text = words.console.overview
  if (paused.length + cooldowns.length + webhooks.length === 0) {
    return html`<p class="hint">${text.calm}</p>`
  }
  return html`
    <ul class="attention">
      ${paused.map(
        ({ channel, paused_at: at, reason }) => html`
          <li key=${channel}>
            <${State} is="paused" />
            <a href=${linkTo(['channels'])}>${channel}</a>
            <span>${reason ?? words.console.noReason}</span>
            <span class="soft">${text.since(sinceText(at))}</span>
          </li>
        `,
      )}
      ${cooldowns.map(
        ({ channel, model, until }) => html`
          <li key=${`${channel} ${model}`}>
            <${State} is="cooldown" />
            <a href=${linkTo(['channels'])}>${channel}</a>
            <span>${model}</span>
            <span class="soft">${words.console.until} <${When} at=${until} /></span>
          </li>
        `,
      )}
      ${webhooks.map(
        ({ webhook_id: id, account, url, failing_since: at, pending }) => html`
          <li key=${id}>
            <${State} is="failing" />
            <a href=${linkTo(['webhooks', id], { account })}>${account}</a>
            <span class="break">${url}</span>
            <span class="soft">${text.pending(pending)}, ${text.since(sinceText(at))}</span>
          </li>
        `,
      )}
    </ul>
  `
}

/** @param {{ readonly calls: Overview['calls'] }} props */
function Calls({ calls }) {
  const channels = [...new Set(calls.map(({ channel }) => channel))].toSorted()
  const outcomes = [...new Set(calls.map(({ outcome }) => outcome))]
  const countOf = (/** @type {string} */ channel, /** @type {string} */ outcome) =>
    calls.find((call) => call.channel === channel && call.outcome === outcome)?.count
  /** @type {Readonly<Record<string, string>>} */
  const names = words.console.outcomes
  return html`<${Table}
    label=${words.console.overview.calls}
    columns=${[
      { title: words.console.fields.channel, cell: (/** @type {string} */ channel) => channel },
      ...outcomes.map((outcome) => ({
        title: names[outcome] ?? outcome,
        isNumber: true,
        cell: (/** @type {string} */ channel) => numberText(countOf(channel, outcome)),
      })),
      {
        title: '',
        cell: (/** @type {string} */ channel) => {
          const own = outcomes.map((outcome) => ({
            outcome,
            count: countOf(channel, outcome) ?? 0,
          }))
          const total = own.reduce((sum, { count }) => sum + count, 0)
          let x = 0
          return html`<svg
            class="share"
            viewBox="0 0 100 8"
            preserveAspectRatio="none"
            aria-hidden="true"
          >
            ${own.map(({ outcome, count }) => {
              const width = (count / total) * 100
              x += width
              return html`<rect
                key=${outcome}
                class=${outcome}
                x=${x - width}
                width=${width}
                height="8"
              />`
            })}
          </svg>`
        },
      },
    ]}
    rows=${channels}
    rowKey=${String}
  />`
}
