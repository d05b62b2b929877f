import { html } from 'htm/preact'
import { words } from 'words'
import { go, linkTo } from '../address.js'
import { useAdmin } from '../admin.js'
import { act } from '../parts/act.js'
import { listing } from '../parts/listing.js'
import { accountLink, numberText } from '../parts/texts.js'
import { limitFields, limitsOf, limitsText, modelsOf } from './limits.js'

/** @import { Columns } from '../parts/table.js' */
/** @import { AccountJson } from '../../../store/accounts/accountRows.ts' */

/**
 * All accounts, newest first.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function AccountsView({ query }) {
  const admin = useAdmin()
  const { fields, views, money, account: text } = words.console
  /** @type {Columns<AccountJson>} */
  const columns = [
    [fields.name, ({ name }) => accountLink(name)],
    [money.available, ({ available }) => numberText(available), 'number'],
    [money.held, ({ held }) => numberText(held), 'number'],
    [money.spent, ({ spent }) => numberText(spent), 'number'],
    [fields.models, ({ models }) => models?.join(', ') ?? text.allModels],
    [fields.limits, ({ limits }) => limitsText(limits)],
  ]
  return html`
    <div class="heading">
      <h2>${views.accounts}</h2>
      ${act({
        label: text.create,
        title: text.createTitle,
        kind: 'primary',
        fields: [
          { name: 'name', label: fields.name, required: true, hint: text.nameHint },
          { name: 'credits', label: fields.credits, pattern: '[0-9]*' },
          ...limitFields(),
        ],
        run: (values) =>
          admin.change('POST', 'accounts', {
            name: values['name'],
            credits: Number(values['credits']),
            ...(values['models'] && { models: modelsOf(values) }),
            ...((values['requests'] || values['live_tasks']) && { limits: limitsOf(values) }),
          }),
        onDone: (/** @type {AccountJson} */ { name }) => go(linkTo(['accounts', name])),
      })}
    </div>
    ${listing({
      label: views.accounts,
      source: 'accounts',
      query,
      here: ['accounts'],
      filters: [{ name: 'search' }],
      columns,
      idOf: (account) => account.account_id,
    })}
  `
}
