import { html } from 'htm/preact'
import { words } from 'words'
import { Filters } from '../parts/filters.js'
import { Listing } from '../parts/listing.js'
import { State, When } from '../parts/texts.js'

/** @import { AuditRow } from '../records.ts' */

/**
 * Who changed what, newest first.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function AuditView({ query }) {
  const { fields, views } = words.console
  return html`
    <h2>${views.audit}</h2>
    <${Filters}
      here=${['audit']}
      query=${query}
      filters=${[{ name: 'target' }, { name: 'actor' }, { name: 'action' }, { name: 'since', isTime: true }]}
    />
    <${Listing}
      label=${views.audit}
      source="audit"
      query=${{ limit: '50', ...query }}
      here=${['audit']}
      rowKey=${(/** @type {AuditRow} */ row) => row.audit_id}
      columns=${[
        { title: fields.at, cell: (/** @type {AuditRow} */ { at }) => html`<${When} at=${at} />` },
        {
          title: fields.actor,
          cell: (/** @type {AuditRow} */ { actor }) => html`<span class="break">${actor}</span>`,
        },
        {
          title: fields.action,
          cell: (/** @type {AuditRow} */ { action }) => html`<code>${action}</code>`,
        },
        {
          title: fields.target,
          cell: (/** @type {AuditRow} */ { target }) => html`<span class="break">${target}</span>`,
        },
        {
          title: fields.params,
          cell: (/** @type {AuditRow} */ { params }) =>
            html`<code class="break">${paramsText(params)}</code>`,
        },
        {
          title: fields.outcome,
          cell: (/** @type {AuditRow} */ { outcome }) => html`<${State} is=${outcome} />`,
        },
      ]}
    />
  `
}

/** @param {object | null} params */
function paramsText(params) {
  return Object.entries(params ?? {})
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
