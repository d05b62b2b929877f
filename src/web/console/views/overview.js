import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useRead } from '../admin.js'
import { dayCharts } from '../parts/chart.js'
import { tiles, told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import { link, nameIn, numberText, sinceText, state, when } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { OverviewJson } from '../../../operations/overview.ts' */

/** What happens now, and what needs an operator. */
export function OverviewView() {
  /** @type {Reading<OverviewJson>} */
  const { value, failure } = useRead('overview', { everyMs: 5_000 })
  const text = words.console.overview
  if (!value)
    return html`<h2>${words.console.views.overview}</h2>
      ${told(failure)}`
  const { tasks, oldest_waiting: oldest, days } = value
  const today = days.at(-1)
  const tasksOf = (/** @type {string} */ status) => linkTo(['tasks'], { status })
  return html`
    <h2>${words.console.views.overview}</h2>
    ${told(failure)}
    ${tiles([
      [text.queued, numberText(tasks.queued), tasksOf('queued')],
      [text.processing, numberText(tasks.processing), tasksOf('processing')],
      [
        text.oldest,
        sinceText(oldest?.created_at),
        oldest ? linkTo(['tasks', oldest.task_id]) : linkTo(['queue']),
      ],
      [text.succeededToday, numberText(today?.succeeded)],
      [text.failedToday, numberText(today?.failed), tasksOf('failed')],
      [text.creditsToday, numberText(today?.credits)],
    ])}
    <section aria-labelledby="attention">
      <h3 id="attention">${text.attention}</h3>
      ${attentionOf(value)}
    </section>
    ${dayCharts(days)}
    <section>
      <h3>${text.calls}</h3>
      ${callsOf(value.calls)}
    </section>
  `
}

/**
 * Returns the channels that decline more than a fifth of their calls.
 * @param {OverviewJson['calls']} calls
 */
function decliningOf(calls) {
  return calls.flatMap(({ channel, outcome, count }) => {
    const all = calls.filter((call) => call.channel === channel).map((call) => call.count)
    const share = count / all.reduce((sum, each) => sum + each, 0)
    return outcome === 'declined' && share > 0.2 ? [{ channel, count }] : []
  })
}

/** @param {OverviewJson} overview */
function attentionOf({ calls, paused, cooldowns, webhooks_in_trouble: webhooks }) {
  const text = words.console.overview
  const declining = decliningOf(calls)
  if (paused.length + cooldowns.length + declining.length + webhooks.length === 0) {
    return html`<p class="hint">${text.calm}</p>`
  }
  return html`
    <ul class="attention">
      ${paused.map(
        ({ channel, paused_at: at, reason }) => html`
          <li key=${channel}>
            ${state('paused')} ${link(channel, ['channels'])}
            <span class="break">${reason || words.console.noReason}</span>
            <span class="soft">${text.since(sinceText(at))}</span>
          </li>
        `,
      )}
      ${cooldowns.map(
        ({ channel, model, until }) => html`
          <li key=${`${channel} ${model}`}>
            ${state('cooldown')} ${link(channel, ['channels'])}
            <span>${model}</span>
            <span class="soft">${words.console.until} ${when(until)}</span>
          </li>
        `,
      )}
      ${declining.map(
        ({ channel, count }) => html`
          <li key=${channel}>
            ${state('failing', words.console.outcomes.declined)} ${link(channel, ['channels'])}
            <span class="soft">${text.declined(count)}</span>
          </li>
        `,
      )}
      ${webhooks.map(
        ({ webhook_id: id, account, url, failing_since: at, pending }) => html`
          <li key=${id}>
            ${state('failing')} ${link(account, ['webhooks', id], { account })}
            <span class="break">${url}</span>
            <span class="soft"
              >${[text.pending(pending), text.since(sinceText(at))].join(words.comma)}</span
            >
          </li>
        `,
      )}
    </ul>
  `
}

/** @param {OverviewJson['calls']} calls */
function callsOf(calls) {
  const outcomes = Object.keys(words.console.outcomes).filter((outcome) =>
    calls.some((call) => call.outcome === outcome),
  )
  const countOf = (/** @type {string} */ channel, /** @type {string} */ outcome) =>
    calls.find((call) => call.channel === channel && call.outcome === outcome)?.count ?? 0
  return table({
    label: words.console.overview.calls,
    rows: [...new Set(calls.map(({ channel }) => channel))].toSorted(),
    idOf: String,
    columns: [
      [words.console.fields.channel, (channel) => channel],
      ...outcomes.map((outcome) => {
        const count = (/** @type {string} */ channel) => numberText(countOf(channel, outcome))
        return /** @type {const} */ ([nameIn(words.console.outcomes, outcome), count, 'number'])
      }),
    ],
  })
}
