import { html } from 'htm/preact'

/** @import { ComponentChildren } from 'preact' */

/**
 * A choice between a few values, as radio buttons side by side.
 * @template {string} Value
 * @param {{
 *   readonly legend: string,
 *   readonly name: string,
 *   readonly values: readonly Value[],
 *   readonly value: Value | undefined,
 *   readonly label: (value: Value) => ComponentChildren,
 *   readonly onChoose: (value: Value) => void,
 * }} props
 */
export function Choices({ legend, name, values, value, label, onChoose }) {
  if (values.length === 0) return null
  return html`
    <fieldset class="choices">
      <legend>${legend}</legend>
      <div class="row">
        ${values.map(
          (each) => html`
            <label key=${each} class="choice">
              <input
                type="radio"
                name=${name}
                value=${each}
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
