import { html } from 'htm/preact'
import { words } from 'words'
import { listing } from '../parts/listing.js'
import { code, state, when } from '../parts/texts.js'

/** @import { Columns } from '../parts/table.js' */
/** @import { AuditJson } from '../../../store/auditRows.ts' */

/**
 * Who changed what, newest first.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function AuditView({ query }) {
  const { fields, views } = words.console
  /** @type {Columns<AuditJson>} */
  const columns = [
    [fields.at, ({ at }) => when(at)],
    [fields.actor, ({ actor }) => html`<span class="break">${actor}</span>`],
    [fields.action, ({ action }) => code(action)],
    [fields.target, ({ target }) => html`<span class="break">${target}</span>`],
    [fields.params, ({ params }) => code(paramsText(params))],
    [fields.outcome, ({ outcome }) => state(outcome)],
  ]
  return html`
    <h2>${views.audit}</h2>
    ${listing({
      label: views.audit,
      source: 'audit',
      query,
      here: ['audit'],
      filters: [
        { name: 'target' },
        { name: 'actor' },
        { name: 'action' },
        { name: 'since', isTime: true },
      ],
      columns,
      idOf: (row) => String(row.audit_id),
    })}
  `
}

/** @param {object | null} params */
function paramsText(params) {
  return Object.entries(params ?? {})
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
