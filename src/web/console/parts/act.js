import { html } from 'htm/preact'
import { useRef, useState } from 'preact/hooks'
import { words } from 'words'
import { randomName } from '../../shared/session.js'
import { useAdmin } from '../admin.js'
import { valuesOf } from './fields.js'
import { Told } from './listing.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Answer, Failure } from '../../shared/callApi.js' */

/**
 * A field of a dialog.
 * @typedef {{
 *   readonly name: string,
 *   readonly label: string,
 *   readonly hint?: string,
 *   readonly value?: string,
 *   readonly type?: string,
 *   readonly pattern?: string,
 *   readonly required?: boolean,
 * }} Field
 */

/**
 * A button that changes something. It says in a dialog what will happen, and asks once. A viewer has no such button.
 * @template Prepared, Done
 * @param {{
 *   readonly label: string,
 *   readonly title: string,
 *   readonly text?: string | ((prepared: Prepared) => ComponentChildren),
 *   readonly fields?: readonly Field[],
 *   readonly isDanger?: boolean,
 *   readonly isPrimary?: boolean,
 *   readonly prepare?: () => Promise<Answer<Prepared>>,
 *   readonly isEmpty?: (prepared: Prepared) => boolean,
 *   readonly run: (values: Readonly<Record<string, string>>, name: string) => Promise<Answer<Done>>,
 *   readonly done?: (value: Done) => ComponentChildren,
 *   readonly onDone?: (value: Done) => void,
 * }} props `prepare` asks what would happen (a dry run), and `text` says it. `run` gets the fields and a name of this
 * opening of the dialog, so that a repeated click can be recognised. `done` shows what came of it; else the dialog closes.
 */
export function Act(props) {
  const {
    label,
    title,
    text,
    fields = [],
    isDanger,
    isPrimary,
    prepare,
    isEmpty,
    run,
    done,
  } = props
  const { isOperator } = useAdmin()
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const name = useRef('')
  const [state, setState] = useState(
    /** @type {{ readonly open?: boolean, readonly busy?: boolean, readonly failure?: Failure, readonly prepared?: Prepared, readonly done?: Done }} */ ({}),
  )
  if (!isOperator) return null

  const open = async () => {
    name.current = randomName()
    setState({ open: true, busy: prepare !== undefined })
    dialog.current?.showModal()
    const answer = await prepare?.()
    if (answer?.ok) setState({ open: true, prepared: answer.value })
    else if (answer) setState({ open: true, failure: answer.failure })
  }
  const confirm = async (/** @type {Event & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault()
    if (state.busy) return
    const values = valuesOf(event.currentTarget)
    setState((now) => ({ ...now, busy: true }))
    const answer = await run(values, name.current)
    if (!answer.ok) {
      const { failure } = answer
      return setState((now) => ({ ...now, busy: false, failure }))
    }
    props.onDone?.(answer.value)
    if (done) setState({ open: true, done: answer.value })
    else dialog.current?.close()
  }
  const close = () => dialog.current?.close()
  const { prepared } = state
  const nothing = prepared !== undefined && isEmpty?.(prepared)
  const mayRun = prepare === undefined || (prepared !== undefined && !nothing)
  return html`
    <button type="button" class=${isPrimary ? 'primary' : ''} onClick=${open}>${label}</button>
    <dialog ref=${dialog} aria-label=${title} onClose=${() => setState({})}>
      ${
        state.open &&
        html`<form method="dialog" onSubmit=${state.done === undefined ? confirm : undefined}>
          <h3>${title}</h3>
          ${
            state.done === undefined
              ? html`
                  ${typeof text === 'function' ? prepared !== undefined && text(prepared) : text && html`<p>${text}</p>`}
                  ${prepare && state.busy && html`<p role="status">${words.console.looking}</p>`}
                  ${fields.map((field) => html`<${FieldOf} key=${field.name} ...${field} />`)}
                `
              : done?.(state.done)
          }
          <${Told} failure=${state.failure} title=${words.console.notDone} />
          <div class="actions">
            <button type="button" onClick=${close}>
              ${state.done === undefined && !nothing ? words.console.cancel : words.close}
            </button>
            ${
              state.done === undefined &&
              mayRun &&
              html`<button
                type="submit"
                class=${isDanger ? 'primary danger' : 'primary'}
                aria-disabled=${state.busy ?? false}
              >
                ${label}
              </button>`
            }
          </div>
        </form>`
      }
    </dialog>
  `
}

/** @param {Field} props */
function FieldOf({ name, label, hint, value = '', type = 'text', pattern, required = false }) {
  const id = `field-${name}`
  return html`
    <div class="field">
      <label class="label" for=${id}>${label}</label>
      <input
        id=${id}
        name=${name}
        type=${type}
        defaultValue=${value}
        pattern=${pattern}
        required=${required}
        autocomplete="off"
        spellcheck=${false}
        aria-describedby=${hint && `${id}-hint`}
      />
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>
  `
}
