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
 *   readonly kind?: string,
 * }} props
 */
export function Choices({ legend, name, values, value, label, onChoose, kind = '' }) {
  if (values.length === 0) return null
  return html`
    <fieldset class="choices ${kind}">
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

/**
 * A frame in the shape of a ratio such as `3:2`, with its name.
 * @param {{ readonly ratio: string }} props
 */
export function RatioLabel({ ratio }) {
  if (ratio === '') return 'Auto'
  const [width = 1, height = 1] = ratio.split(':').map(Number)
  const longest = Math.max(width, height)
  const style = { width: `${(width / longest) * 1.1}em`, height: `${(height / longest) * 1.1}em` }
  return html`<i class="frame" style=${style} aria-hidden="true"></i>${ratio}`
}
