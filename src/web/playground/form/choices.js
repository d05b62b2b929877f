import { html } from 'htm/preact'

/** @import { ComponentChildren } from 'preact' */

/**
 * A choice between a few values, as radio buttons side by side.
 * @template {string | { readonly id: string }} Value
 * @param {{
 *   readonly legend: string,
 *   readonly name: string,
 *   readonly values: readonly Value[],
 *   readonly value: Value | undefined,
 *   readonly label: (value: Value) => ComponentChildren,
 *   readonly onChoose: (value: Value) => void,
 *   readonly kind?: 'cards',
 * }} props
 */
export function Choices({ legend, name, values, value, label, onChoose, kind }) {
  if (values.length === 0) return null
  return html`
    <fieldset class="choices ${kind}">
      <legend>${legend}</legend>
      <div class="row">
        ${values.map(
          (each) => html`
            <label key=${nameOf(each)} class="choice">
              <input
                type="radio"
                name=${name}
                value=${nameOf(each)}
                checked=${each === value}
                onChange=${() => onChoose(each)}
              />
              <span>${label(each)}</span>
            </label>
          `,
        )}
      </div>
    </fieldset>
  `
}

/** @param {string | { readonly id: string }} value */
function nameOf(value) {
  return typeof value === 'string' ? value : value.id
}
