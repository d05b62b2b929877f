import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { queryOf } from '../address.js'
import { useAdmin, useRead, useRound } from '../admin.js'
import { act } from '../parts/act.js'
import { told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import { code, numberText, state, when } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Answer } from '../../shared/callApi.js' */
/** @import { KeyJson } from '../../../store/accounts/apiKeys.ts' */

/**
 * The API keys of an account.
 * @param {{ readonly account: string }} props
 */
export function Keys({ account }) {
  const admin = useAdmin()
  const path = `accounts/${encodeURIComponent(account)}/keys`
  const [round, again] = useRound()
  const [after, setAfter] = useState(/** @type {string | undefined} */ (undefined))
  /** @type {Reading<{ readonly data: readonly KeyJson[], readonly has_more: boolean }>} */
  const { value, failure } = useRead(`${path}${queryOf({ limit: '50', after })}`, { round })
  const last = value?.has_more ? value.data.at(-1)?.key_id : undefined
  const { fields, key: text } = words.console
  const budgetField = {
    name: 'budget',
    label: fields.budget,
    pattern: '[0-9]+/(hour|day|week|month)',
    hint: text.budgetHint,
  }
  const create = act({
    label: text.create,
    title: text.createTitle(account),
    fields: [
      {
        name: 'expires_days',
        label: text.expiresDays,
        pattern: '[0-9]*[.]?[0-9]+',
        hint: text.expiresHint,
      },
      budgetField,
    ],
    /** @type {(values: Readonly<Record<string, string>>) => Promise<Answer<KeyJson & { secret: string }>>} */
    run: ({ expires_days: days, budget }) =>
      admin.change('POST', path, {
        ...(days && { expires_days: Number(days) }),
        ...(budget && { budget }),
      }),
    done: ({ secret }) => html`
      <p>${text.secretText}</p>
      <output class="secret break"><code>${secret}</code></output>
    `,
    onDone: again,
  })
  const acts = (/** @type {KeyJson} */ { key_id: id, budget }) =>
    html`<span class="actions">
      ${act({
        label: text.budget,
        title: text.budgetTitle(id),
        text: text.budgetText,
        fields: [{ ...budgetField, value: budget ?? '' }],
        run: (values) => admin.change('PATCH', `keys/${id}`, { budget: values['budget'] || null }),
        onDone: again,
      })}
      ${act({
        label: text.revoke,
        title: text.revokeTitle(id),
        text: text.revokeText,
        run: () => admin.change('POST', `keys/${id}/revoke`),
        onDone: again,
      })}
    </span>`
  return html`
    <section aria-labelledby="keys">
      <div class="heading">
        <h3 id="keys">${text.keys}</h3>
        ${create}
      </div>
      ${told(failure)}
      ${
        value &&
        table({
          label: text.keys,
          rows: value.data,
          idOf: (key) => key.key_id,
          columns: [
            [fields.key, (key) => code(key.key_id)],
            [text.prefix, (key) => code(`${key.prefix}…`)],
            [fields.status, (key) => state(stateOf(key))],
            [fields.created_at, (key) => when(key.created_at)],
            [fields.expires_at, (key) => when(key.expires_at)],
            [
              fields.budget,
              ({ budget, used }) => (budget ? text.used(numberText(used), budget) : '–'),
            ],
            ['', (key) => (key.revoked_at ? '' : acts(key))],
          ],
        })
      }
      <nav class="actions pager" aria-label=${text.keys} hidden=${!last && !after}>
        ${after && pageButton(words.console.first, () => setAfter(undefined))}
        ${last && pageButton(words.console.next, () => setAfter(last))}
      </nav>
    </section>
  `
}

/**
 * @param {string} label
 * @param {() => void} onClick
 */
function pageButton(label, onClick) {
  return html`<button class="button" type="button" onClick=${onClick}>${label}</button>`
}

/** @param {KeyJson} key */
function stateOf({ revoked_at: revoked, expires_at: expires }) {
  if (revoked) return 'revoked'
  return expires && Date.parse(expires) <= Date.now() ? 'expired' : 'active'
}
