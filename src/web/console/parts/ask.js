import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { useAdmin } from '../admin.js'
import { told } from './notices.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Answer } from '../../shared/callApi.js' */

/**
 * A button that asks the API at a click. What it answers is shown in the place of the button, or given to `onAnswer`.
 * @template T
 * @param {{
 *   readonly label: string,
 *   readonly ask: () => Promise<Answer<T>>,
 *   readonly shown?: (value: T) => ComponentChildren,
 *   readonly onAnswer?: (value: T) => void,
 * }} props
 */
export function Ask({ label, ask, shown, onAnswer }) {
  const [answer, setAnswer] = useState(/** @type {Answer<T> | undefined} */ (undefined))
  const click = async () => {
    const given = await ask()
    setAnswer(given)
    if (given.ok) onAnswer?.(given.value)
  }
  if (answer?.ok && shown) return shown(answer.value)
  return html`
    <button type="button" onClick=${click}>${label}</button>
    ${told(answer?.ok === false ? answer.failure : undefined)}
  `
}

/**
 * A button that saves what the API answers as CSV.
 * @param {{ readonly path: string, readonly name: string }} props
 */
export function CsvButton({ path, name }) {
  const admin = useAdmin()
  return html`<${Ask}
    label=${words.console.csv}
    ask=${() => admin.file(path, 'text/csv')}
    onAnswer=${(/** @type {Blob} */ content) => save(`${name}.csv`, content)}
  />`
}

/**
 * @param {string} name
 * @param {Blob} content
 */
function save(name, content) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
