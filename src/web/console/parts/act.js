import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import { words } from 'words'
import { randomName } from '../../shared/session.js'
import { useAdmin } from '../admin.js'
import { fieldOf, valuesOf } from './fields.js'
import { told } from './notices.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Answer, Failure } from '../../shared/callApi.js' */
/** @import { Field } from './fields.js' */

/**
 * What a button changes. `prepare` asks what would happen (a dry run), and `text` says it. `run` gets the fields, a name
 * of this opening of the dialog, so that a repeated click can be recognised, and what was prepared. `done` shows what
 * came of it; without it the dialog closes.
 * @template Prepared, Done
 * @typedef {{
 *   readonly label: string,
 *   readonly title: string,
 *   readonly text?: string | ((prepared: Prepared) => ComponentChildren),
 *   readonly fields?: readonly Field[],
 *   readonly kind?: 'primary',
 *   readonly prepare?: () => Promise<Answer<Prepared>>,
 *   readonly isEmpty?: (prepared: Prepared) => boolean,
 *   readonly run: (
 *     values: Readonly<Record<string, string>>,
 *     name: string,
 *     prepared: Prepared | undefined,
 *   ) => Promise<Answer<Done>>,
 *   readonly done?: (value: Done) => ComponentChildren,
 *   readonly onDone?: (value: Done) => void,
 * }} Change
 */

/**
 * A button that changes something. It says in a dialog what will happen, and asks once. A viewer has no such button.
 * @template Prepared, Done
 * @param {Change<Prepared, Done>} change
 */
export function act(change) {
  return html`<${Act} key=${change.title} ...${change} />`
}

/**
 * @template Prepared, Done
 * @param {Change<Prepared, Done>} props
 */
function Act({ label, title, text, fields = [], kind, prepare, isEmpty, run, done, onDone }) {
  const { isOperator } = useAdmin()
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const name = useRef('')
  /** A second click can come before the page is drawn again. */
  const busy = useRef(false)
  const [isOpen, setOpen] = useState(false)
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const [prepared, setPrepared] = useState(/** @type {Prepared | undefined} */ (undefined))
  const [result, setResult] = useState(/** @type {Done | undefined} */ (undefined))
  if (!isOperator) return null

  const open = async () => {
    name.current = randomName()
    setOpen(true)
    setFailure(undefined)
    setPrepared(undefined)
    setResult(undefined)
    dialog.current?.showModal()
    const answer = await prepare?.()
    if (answer?.ok) setPrepared(answer.value)
    else setFailure(answer?.failure)
  }
  const confirm = async (/** @type {Event & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault()
    if (busy.current) return
    busy.current = true
    const answer = await run(valuesOf(event.currentTarget), name.current, prepared)
    busy.current = false
    setFailure(answer.ok ? undefined : answer.failure)
    if (!answer.ok) return
    if (done) setResult(answer.value)
    else dialog.current?.close()
    onDone?.(answer.value)
  }
  const nothing = prepared !== undefined && isEmpty?.(prepared)
  const isAsking = result === undefined && !nothing
  const mayRun = isAsking && (prepare === undefined || prepared !== undefined)
  const said = typeof text === 'function' ? prepared !== undefined && text(prepared) : text
  return html`
    <button type="button" class=${kind === 'primary' ? kind : ''} onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${title} onClose=${() => setOpen(false)}>
      ${
        isOpen &&
        html`<form onSubmit=${confirm}>
          <h3>${title}</h3>
          ${
            result === undefined
              ? html`
                  ${typeof said === 'string' ? html`<p>${said}</p>` : said}
                  ${prepare && !prepared && !failure && html`<p role="status">${words.console.looking}</p>`}
                  ${fields.map(fieldOf)}
                `
              : done?.(result)
          }
          ${told(failure, words.console.notDone)}
          <div class="actions">
            <button type="button" onClick=${() => dialog.current?.close()}>
              ${isAsking ? words.console.cancel : words.close}
            </button>
            ${mayRun && html`<button type="submit" class="primary">${label}</button>`}
          </div>
        </form>`
      }
    </dialog>
  `
}
