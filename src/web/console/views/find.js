import { html } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { words } from 'words'
import { go, linkTo, queryOf } from '../address.js'
import { useRead } from '../admin.js'
import { told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import { idLink, nameIn } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Found } from '../../../store/operator/findById.ts' */

/**
 * What an id belongs to. One hit leads on at once.
 * @param {{ readonly query: Readonly<Record<string, string>> }} props
 */
export function FindView({ query }) {
  const { id = '' } = query
  /** @type {Reading<{ readonly data: readonly Found[], readonly has_more: boolean }>} */
  const { value, failure, loading } = useRead(`find${queryOf({ id })}`)
  const [only, ...others] = value?.data ?? []
  const link = !loading && only && others.length === 0 ? linkOf(only) : undefined
  useEffect(() => {
    if (link) go(link, { replace: true })
  }, [link])
  const { fields, views } = words.console
  return html`
    <h2>${views.find}</h2>
    ${value && html`<p class="break">${words.console.found(value.data.length, id)}</p>`}
    ${told(failure)}
    ${
      only &&
      table({
        label: views.find,
        busy: loading,
        rows: [only, ...others],
        idOf: (found) => `${found.kind} ${found.id} ${found.matched}`,
        columns: [
          [fields.kind, ({ kind }) => nameIn(fields, kind)],
          [fields.id, (found) => idLink(found.id, linkOf(found))],
          [fields.account, ({ account }) => account],
          [fields.matched, ({ matched }) => nameIn(fields, matched)],
        ],
      })
    }
    ${value?.has_more && html`<p class="hint">${words.console.more}</p>`}
  `
}

/** @param {Found} found */
function linkOf({ kind, id, account, task_id: task }) {
  if (kind === 'task') return linkTo(['tasks', id])
  if (kind === 'delivery' && task) return linkTo(['tasks', task])
  if (kind === 'webhook') return linkTo(['webhooks', id], { account: account ?? undefined })
  if (kind === 'channel') return linkTo(['channels'])
  return linkTo(['accounts', account ?? id])
}
