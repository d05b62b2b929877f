import { html } from 'htm/preact'
import { words } from 'words'
import { useAdmin, useRead } from '../admin.js'
import { Act } from '../parts/act.js'
import { Told } from '../parts/listing.js'
import { Table } from '../parts/table.js'
import { numberText, State, When } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Key } from '../records.ts' */

const budgetPattern = '[0-9]+/(hour|day|week|month)'

/**
 * The API keys of an account.
 * @param {{ readonly account: string }} props
 */
export function Keys({ account }) {
  const admin = useAdmin()
  const path = `accounts/${encodeURIComponent(account)}/keys`
  /** @type {Reading<{ readonly data: readonly Key[] }>} */
  const { value, failure, reload } = useRead(`${path}?limit=100`)
  const { fields, key: text } = words.console
  const budgetField = {
    name: 'budget',
    label: fields.budget,
    pattern: budgetPattern,
    hint: text.budgetHint,
  }
  const acts = (/** @type {Key} */ { key_id: id, budget, revoked_at: revoked }) =>
    !revoked &&
    html`<span class="actions">
      <${Act}
        label=${text.budget}
        title=${text.budgetTitle(id)}
        text=${text.budgetText}
        fields=${[{ ...budgetField, value: budget ?? '' }]}
        run=${(/** @type {Readonly<Record<string, string>>} */ values) =>
          admin.change('PATCH', `keys/${encodeURIComponent(id)}`, {
            budget: values['budget'] || null,
          })}
        onDone=${reload}
      />
      <${Act}
        label=${text.revoke}
        title=${text.revokeTitle(id)}
        text=${text.revokeText}
        isDanger
        run=${() => admin.change('POST', `keys/${encodeURIComponent(id)}/revoke`)}
        onDone=${reload}
      />
    </span>`
  const stateOf = (/** @type {Key} */ key) => {
    if (key.revoked_at) return 'revoked'
    return key.expires_at && Date.parse(key.expires_at) <= Date.now() ? 'expired' : 'active'
  }
  return html`
    <section aria-labelledby="keys">
      <div class="heading">
        <h3 id="keys">${text.keys}</h3>
        <${Act}
          label=${text.create}
          title=${text.createTitle(account)}
          fields=${[
            {
              name: 'expires_days',
              label: text.expiresDays,
              pattern: '[0-9]*[.]?[0-9]+',
              hint: text.expiresHint,
            },
            budgetField,
          ]}
          run=${(/** @type {Readonly<Record<string, string>>} */ values) =>
            admin.change('POST', path, {
              ...(values['expires_days'] && { expires_days: Number(values['expires_days']) }),
              ...(values['budget'] && { budget: values['budget'] }),
            })}
          done=${(/** @type {Key} */ { secret }) => html`
            <p>${text.secretText}</p>
            <output class="secret break"><code>${secret}</code></output>
          `}
          onDone=${reload}
        />
      </div>
      <${Told} failure=${failure} />
      ${
        value &&
        html`<${Table}
          label=${text.keys}
          rows=${value.data}
          rowKey=${(/** @type {Key} */ key) => key.key_id}
          columns=${[
            {
              title: fields.key,
              cell: (/** @type {Key} */ key) => html`<code>${key.key_id}</code>`,
            },
            {
              title: text.prefix,
              cell: (/** @type {Key} */ key) => html`<code>${key.prefix}…</code>`,
            },
            {
              title: fields.status,
              cell: (/** @type {Key} */ key) => html`<${State} is=${stateOf(key)} />`,
            },
            {
              title: fields.created_at,
              cell: (/** @type {Key} */ key) => html`<${When} at=${key.created_at} />`,
            },
            {
              title: fields.expires_at,
              cell: (/** @type {Key} */ key) => html`<${When} at=${key.expires_at} />`,
            },
            {
              title: fields.budget,
              cell: (/** @type {Key} */ { budget, used }) =>
                budget ? text.used(numberText(used), budget) : '–',
            },
            { title: '', cell: acts },
          ]}
        />`
      }
    </section>
  `
}
