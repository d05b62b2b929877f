import { html } from 'htm/preact'

/**
 * @typedef {{
 *   readonly name: string,
 *   readonly label: string,
 *   readonly hint?: string,
 *   readonly value?: string,
 *   readonly pattern?: string,
 *   readonly required?: boolean,
 * }} Field
 */

/**
 * Draws a field of a dialog.
 * @param {Field} field
 */
export function fieldOf({ name, label, hint, value = '', pattern, required = false }) {
  const id = `field-${name}`
  return html`
    <div class="field" key=${name}>
      <label class="label" for=${id}>${label}</label>
      <input
        id=${id}
        name=${name}
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

/**
 * Returns what a person has put into the fields of a form, by their names.
 * @param {HTMLFormElement} form
 */
export function valuesOf(form) {
  /** @type {Readonly<Record<string, string>>} */
  const values = Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [
      name,
      typeof value === 'string' ? value.trim() : '',
    ]),
  )
  return values
}

/**
 * Returns the values that are not those which the fields had at first.
 * @param {readonly Field[]} fields
 * @param {Readonly<Record<string, string>>} values
 */
export function changedValues(fields, values) {
  /** @type {Readonly<Record<string, string>>} */
  const changed = Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => value !== (fields.find((field) => field.name === name)?.value ?? ''),
    ),
  )
  return changed
}
