import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useAdmin, useRead } from '../admin.js'
import { Act } from '../parts/act.js'
import { DayChart } from '../parts/chart.js'
import { Told } from '../parts/listing.js'
import { numberText, When } from '../parts/texts.js'
import { Facts, Tiles } from '../parts/tiles.js'
import { Keys } from './keys.js'
import { Ledger } from './ledger.js'
import { limitFields, limitsOf, limitsText, modelsOf } from './limits.js'

/** @import { Reading } from '../admin.js' */
/** @import { Account, Usage } from '../records.ts' */

const shownDays = 14
const dayMs = 86_400_000

/**
 * One account: its money, limits, keys, usage and ledger.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
export function AccountView({ id: name, query }) {
  const admin = useAdmin()
  const path = `accounts/${encodeURIComponent(name)}`
  /** @type {Reading<Account>} */
  const { value, failure, reload } = useRead(path, 10_000)
  const [round, setRound] = useState(0)
  const { fields, account: text, money } = words.console
  const changed = () => {
    reload()
    setRound((now) => now + 1)
  }
  return html`
    <div class="heading">
      <h2>${name}</h2>
      <div class="actions">
        <a class="button" href=${linkTo(['tasks'], { account: name })}
          >${words.console.views.tasks}</a
        >
        <a class="button" href=${linkTo(['webhooks'], { account: name })}
          >${words.console.views.webhooks}</a
        >
        <${Act}
          label=${text.topUp}
          title=${text.topUpTitle(name)}
          text=${text.topUpText}
          isPrimary
          fields=${[{ name: 'credits', label: fields.credits, required: true, pattern: '-?[0-9]+', hint: text.topUpHint }]}
          run=${(
            /** @type {Readonly<Record<string, string>>} */ values,
            /** @type {string} */ id,
          ) =>
            admin.change('POST', `${path}/topups`, {
              topup_id: id,
              credits: Number(values['credits']),
            })}
          onDone=${changed}
        />
      </div>
    </div>
    <${Told} failure=${failure} />
    ${
      value &&
      html`
        <${Tiles}
          tiles=${[
            [money.available, numberText(value.available)],
            [money.held, numberText(value.held)],
            [money.spent, numberText(value.spent)],
            [text.liveNow, numberText(value.limits.live_tasks?.used)],
            [text.requestsLeft, numberText(value.limits.requests?.remaining)],
          ].filter(([, shown]) => shown !== '–')}
        />
        <section aria-labelledby="terms">
          <div class="heading">
            <h3 id="terms">${text.terms}</h3>
            <${Act}
              label=${text.change}
              title=${text.changeTitle(name)}
              text=${text.changeText}
              fields=${limitFields(value)}
              run=${(/** @type {Readonly<Record<string, string>>} */ values) =>
                admin.change('PATCH', path, { models: modelsOf(values), limits: limitsOf(values) })}
              onDone=${changed}
            />
          </div>
          <${Facts}
            facts=${[
              [fields.models, value.models?.join(', ') ?? text.allModels],
              [fields.limits, limitsText(value.limits)],
              [fields.created_at, html`<${When} at=${value.created_at} />`],
              [fields.account_id, html`<code>${value.account_id}</code>`],
            ]}
          />
        </section>
        <${Keys} account=${name} />
        <${UsageByDay} account=${name} />
        <${Ledger} account=${name} query=${query} round=${round} />
      `
    }
  `
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
  /** @type {Reading<Usage>} */
  const { value, failure } = useRead(`usage?${query}`)
  const rowOf = (/** @type {string} */ day) =>
    value?.data.find((row) => row.day?.slice(0, 10) === day)
  const { overview: text, fields } = words.console
  return html`
    <${Told} failure=${failure} />
    ${
      value &&
      html`<div class="columns">
        <${DayChart}
          label=${text.tasksByDay}
          days=${days}
          series=${[
            {
              label: words.status.succeeded,
              colour: '--good',
              values: days.map((day) => rowOf(day)?.tasks.succeeded ?? 0),
            },
            {
              label: words.status.failed,
              colour: '--bad',
              values: days.map((day) => rowOf(day)?.tasks.failed ?? 0),
            },
          ]}
        />
        <${DayChart}
          label=${text.creditsByDay}
          days=${days}
          series=${[{ label: fields.credits, colour: '--tone', values: days.map((day) => rowOf(day)?.credits ?? 0) }]}
        />
      </div>`
    }
  `
}
