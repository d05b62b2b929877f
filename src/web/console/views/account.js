import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useAdmin, useRead, useRound } from '../admin.js'
import { act } from '../parts/act.js'
import { dayCharts } from '../parts/chart.js'
import { changedValues } from '../parts/fields.js'
import { facts, tiles, told } from '../parts/notices.js'
import { code, numberText, when } from '../parts/texts.js'
import { Keys } from './keys.js'
import { ledgerOf } from './ledger.js'
import { limitFields, limitsOf, limitsText, modelsOf } from './limits.js'

/** @import { Reading } from '../admin.js' */
/** @import { AccountJson } from '../../../store/accounts/accountRows.ts' */
/** @import { UsageJson } from '../../../operations/countUsage.ts' */

const shownDays = 14
const dayMs = 86_400_000

/**
 * One account: its money, limits, keys, usage and ledger.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
export function AccountView({ id: name, query }) {
  const admin = useAdmin()
  const path = `accounts/${encodeURIComponent(name)}`
  const [round, again] = useRound()
  /** @type {Reading<AccountJson>} */
  const { value, failure } = useRead(path, { everyMs: 10_000, round })
  const { fields, account: text, money, views } = words.console
  const topUp = act({
    label: text.topUp,
    title: text.topUpTitle(name),
    text: text.topUpText,
    kind: 'primary',
    fields: [
      {
        name: 'credits',
        label: fields.credits,
        required: true,
        pattern: '-?[0-9]+',
        hint: text.topUpHint,
      },
    ],
    run: ({ credits }, topupId) =>
      admin.change('POST', `${path}/topups`, { topup_id: topupId, credits: Number(credits) }),
    onDone: again,
  })
  if (!value)
    return html`<h2>${name}</h2>
      ${told(failure)}`
  const { limits } = value
  const terms = [
    ...limitFields(value),
    {
      name: 'alert',
      label: fields.alert_below,
      hint: text.alertHint,
      pattern: '[0-9]*',
      value: String(value.alert_below ?? ''),
    },
  ]
  return html`
    <div class="heading">
      <h2>${name}</h2>
      <div class="actions">
        <a class="button" href=${linkTo(['tasks'], { account: name })}>${views.tasks}</a>
        <a class="button" href=${linkTo(['webhooks'], { account: name })}>${views.webhooks}</a>
        ${topUp}
      </div>
    </div>
    ${told(failure)}
    ${tiles([
      [money.available, numberText(value.available)],
      [money.held, numberText(value.held)],
      [money.spent, numberText(value.spent)],
      ...(limits?.live_tasks ? [tile(text.liveNow, limits.live_tasks.used)] : []),
      ...(limits?.requests ? [tile(text.requestsLeft, limits.requests.remaining)] : []),
    ])}
    <section aria-labelledby="terms">
      <div class="heading">
        <h3 id="terms">${text.terms}</h3>
        ${act({
          label: text.change,
          title: text.changeTitle(name),
          text: text.changeText,
          fields: terms,
          run: (values) => {
            // What is not changed is not sent: an alert that is set again would be armed again.
            const changed = changedValues(terms, values)
            const { alert } = changed
            return admin.change('PATCH', path, {
              models: modelsOf(changed),
              limits: limitsOf(changed),
              ...(alert !== undefined && { alert_below: Number(alert) || null }),
            })
          },
          onDone: again,
        })}
      </div>
      ${facts([
        [fields.models, value.models?.join(', ') ?? text.allModels],
        [fields.limits, limitsText(limits)],
        [fields.alert_below, numberText(value.alert_below)],
        [fields.created_at, when(value.created_at)],
        [fields.account_id, code(value.account_id)],
      ])}
    </section>
    <${Keys} key=${name} account=${name} />
    <${UsageByDay} account=${name} />
    ${ledgerOf(name, query, round)}
  `
}

/**
 * @param {string} label
 * @param {number | undefined} value
 */
function tile(label, value) {
  return /** @type {const} */ ([label, numberText(value)])
}

/** @param {{ readonly account: string }} props */
function UsageByDay({ account }) {
  const [today] = useState(() => Math.floor(Date.now() / dayMs))
  const days = Array.from({ length: shownDays }, (_, i) =>
    new Date((today - shownDays + 1 + i) * dayMs).toISOString().slice(0, 10),
  )
  const query = new URLSearchParams({
    account,
    group_by: 'day',
    start_time: `${days[0]}T00:00:00Z`,
    end_time: new Date((today + 1) * dayMs).toISOString(),
  })
  /** @type {Reading<UsageJson>} */
  const { value, failure } = useRead(`usage?${query}`)
  const rows = days.map((day) => {
    const row = value?.data.find((each) => each.day?.slice(0, 10) === day)
    const { tasks = { succeeded: 0, failed: 0 }, credits = 0 } = row ?? {}
    return { day, ...tasks, credits }
  })
  return html`${told(failure)} ${value && dayCharts(rows)}`
}
