import { html } from 'htm/preact'
import { creditsText, lowestCredits, sizeText } from './models.js'

/** @import { Model } from './models.js' */

/**
 * The models of the account, each with what it takes and what it costs at least.
 * @param {{
 *   readonly models: readonly Model[],
 *   readonly chosen: Model,
 *   readonly onChoose: (id: string) => void,
 * }} props
 */
export function ModelChoice({ models, chosen, onChoose }) {
  return html`
    <fieldset class="models">
      <legend>Model</legend>
      ${models.map(
        (model) => html`
          <label key=${model.id} class="model">
            <input
              type="radio"
              name="model"
              value=${model.id}
              checked=${model.id === chosen.id}
              onChange=${() => onChoose(model.id)}
            />
            <span class="model-card">
              <span class="model-name">${model.id}</span>
              <span class="model-price">from ${creditsText(lowestCredits(model))}</span>
              <span class="model-takes">${takesText(model)}</span>
            </span>
          </label>
        `,
      )}
    </fieldset>
  `
}

/**
 * @param {Model} model
 */
function takesText({ sizes, aspect_ratios, qualities, actions }) {
  return [
    sizes.map(sizeText).join(', '),
    aspect_ratios === null ? undefined : `${aspect_ratios.length} ratios`,
    qualities === null ? undefined : `${qualities.length} qualities`,
    actions.includes('edit') ? undefined : 'no edits',
  ]
    .filter(Boolean)
    .join(' · ')
}
