import { html } from 'htm/preact'
import { words } from 'words'
import { go, linkTo } from '../address.js'
import { useAdmin } from '../admin.js'
import { Act } from '../parts/act.js'
import { Filters } from '../parts/filters.js'
import { Listing } from '../parts/listing.js'
import { numberText } from '../parts/texts.js'
import { limitFields, limitsOf, limitsText, modelsOf } from './limits.js'

/** @import { Account } from '../records.ts' */

const moneyNames = /** @type {const} */ (['available', 'held', 'spent'])

/**
 * All accounts, by name.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function AccountsView({ query }) {
  const admin = useAdmin()
  const { fields, views, account: text } = words.console
  const create = (/** @type {Readonly<Record<string, string>>} */ values) =>
    admin.change('POST', 'accounts', {
      name: values['name'],
      ...(values['credits'] && { credits: Number(values['credits']) }),
      models: modelsOf(values),
      limits: limitsOf(values),
    })
  return html`
    <div class="heading">
      <h2>${views.accounts}</h2>
      <${Act}
        label=${text.create}
        title=${text.createTitle}
        isPrimary
        fields=${[
          { name: 'name', label: fields.name, required: true, hint: text.nameHint },
          { name: 'credits', label: fields.credits, pattern: '[0-9]*' },
          ...limitFields(),
        ]}
        run=${create}
        onDone=${(/** @type {Account} */ { name }) => go(linkTo(['accounts', name]))}
      />
    </div>
    <${Filters} here=${['accounts']} query=${query} filters=${[{ name: 'search' }]} />
    <${Listing}
      label=${views.accounts}
      source="accounts"
      query=${{ limit: '50', ...query }}
      here=${['accounts']}
      rowKey=${(/** @type {Account} */ account) => account.name}
      columns=${[
        {
          title: fields.name,
          cell: (/** @type {Account} */ { name }) =>
            html`<a href=${linkTo(['accounts', name])}>${name}</a>`,
        },
        ...moneyNames.map((name) => ({
          title: words.console.money[name],
          isNumber: true,
          cell: (/** @type {Account} */ account) => numberText(account[name]),
        })),
        {
          title: fields.models,
          cell: (/** @type {Account} */ { models }) => models?.join(', ') ?? text.allModels,
        },
        { title: fields.limits, cell: (/** @type {Account} */ { limits }) => limitsText(limits) },
      ]}
    />
  `
}
