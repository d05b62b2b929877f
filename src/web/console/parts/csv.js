import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { useAdmin } from '../admin.js'
import { told } from './notices.js'

/** @import { Failure } from '../../shared/callApi.js' */

/**
 * Returns rows as CSV (RFC 4180). A spreadsheet must not take a text for a formula.
 * @param {readonly (readonly (string | number | null | undefined)[])[]} rows
 */
export function csvText(rows) {
  const cell = (/** @type {string | number | null | undefined} */ value) => {
    const text = String(value ?? '')
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

/**
 * Saves a file.
 * @param {string} name
 * @param {Blob} content
 */
export function save(name, content) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/**
 * A button that saves what the API answers as CSV.
 * @param {{ readonly path: string, readonly name: string }} props
 */
export function CsvButton({ path, name }) {
  const admin = useAdmin()
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const download = async () => {
    const answer = await admin.file(path, 'text/csv')
    setFailure(answer.ok ? undefined : answer.failure)
    if (answer.ok) save(`${name}.csv`, answer.value)
  }
  return html`
    <button type="button" onClick=${download}>${words.console.csv}</button>
    ${told(failure)}
  `
}
