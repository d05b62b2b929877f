import { html } from 'htm/preact'
import { useCallback, useRef } from 'preact/hooks'
import { words } from 'words'
import { Choices } from './choices.js'
import { creditsOf, lowestCredits, optionsOf, requestOf, sizeText } from './models.js'
import { SourceField } from './sourceField.js'
import { useEstimate } from './useEstimate.js'

/** @import { Ref } from 'preact' */
/** @import { Draft, ImageRequest, Model } from './models.js' */
/** @import { NewImage, SourceImage } from './sourceImages.js' */
/** @import { useSources } from './useSources.js' */

/** How the values of a field are written. */
const fieldLabels = {
  size: sizeText,
  aspect_ratio: (/** @type {string} */ ratio) => ratio || words.playground.autoRatio,
  quality: words.playground.quality,
}

/**
 * The form: what to make, with which model, and what it costs.
 * @param {{
 *   readonly apiKey: string,
 *   readonly available: number,
 *   readonly draft: Draft,
 *   readonly models: readonly Model[],
 *   readonly model: Model,
 *   readonly sources: ReturnType<typeof useSources>,
 *   readonly busy: boolean,
 *   readonly promptRef: Ref<HTMLTextAreaElement>,
 *   readonly onChange: (changed: Partial<Draft>) => void,
 *   readonly onSubmit: (request: ImageRequest, sources: readonly SourceImage[]) => void,
 * }} props
 */
export function Composer(props) {
  const { apiKey, available, draft, models, model, sources, busy, promptRef, onChange, onSubmit } =
    props
  const form = useRef(/** @type {HTMLFormElement | null} */ (null))
  const options = optionsOf(draft, model)
  const request = requestOf(draft, model)
  const editing = request.action === 'edit'
  const images = sources.sources.length
  const estimate = useEstimate(apiKey, request, images, available)
  const credits = estimate.credits ?? creditsOf(model, request, images)

  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    if (!busy) onSubmit(request, sources.sources)
  }
  const addFiles = useCallback((/** @type {readonly NewImage[]} */ files) => {
    void sources.add(files)
    onChange({ action: 'edit' })
  }, [])
  const submitByKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit()
  }
  return html`
    <form class="composer" ref=${form} onSubmit=${submit} aria-label=${words.playground.request}>
      <div class="fields">
        <${Choices}
          legend=${words.playground.action}
          name="action"
          values=${options.actions}
          value=${options.action}
          label=${(/** @type {'generate' | 'edit'} */ action) => words.playground.actions[action]}
          onChoose=${(/** @type {'generate' | 'edit'} */ action) => onChange({ action })}
        />
        <div class="field">
          <label class="label" for="prompt"
            >${editing ? words.playground.change : words.playground.prompt}</label
          >
          <textarea
            id="prompt"
            ref=${promptRef}
            rows="3"
            required
            value=${draft.prompt}
            placeholder=${editing ? words.playground.changeExample : words.playground.examples[0]}
            aria-keyshortcuts="Control+Enter Meta+Enter"
            onInput=${(/** @type {{ currentTarget: HTMLTextAreaElement }} */ { currentTarget }) =>
              onChange({ prompt: currentTarget.value })}
            onKeyDown=${submitByKey}
          ></textarea>
        </div>
        <${SourceField}
          sources=${sources.sources}
          refusals=${sources.refusals}
          hidden=${!editing}
          onFiles=${addFiles}
          onRemove=${sources.remove}
        />
        <${Choices}
          legend=${words.playground.model}
          name="model"
          kind="cards"
          values=${models}
          value=${model}
          label=${modelLabel}
          onChoose=${(/** @type {Model} */ { id }) => onChange({ model: id })}
        />
        ${options.fields.map(
          ([name, values, value]) => html`
            <${Choices}
              key=${name}
              legend=${words.playground.fields[name]}
              name=${name}
              values=${values}
              value=${value}
              label=${fieldLabels[name]}
              onChoose=${(/** @type {string} */ chosen) => onChange({ [name]: chosen })}
            />
          `,
        )}
      </div>
      <div class="submitbar">
        <button class="primary" type="submit" aria-disabled=${busy}>
          <span>${editing ? words.playground.edit : words.playground.make}</span>
          <span>${credits === undefined ? '' : words.credits.count(credits)}</span>
        </button>
        <p class="hint" role="status">
          ${estimate.reason ?? (estimate.seconds && words.playground.takes(estimate.seconds))}
        </p>
      </div>
    </form>
  `
}

/**
 * A model with its lowest price and what it takes.
 * @param {Model} model
 */
function modelLabel(model) {
  const { id, sizes, aspect_ratios: ratios, qualities, actions } = model
  const takes = [
    sizes.map(sizeText).join(', '),
    ratios && words.playground.ratios(ratios.length),
    qualities && words.playground.qualities(qualities.length),
    actions.includes('edit') ? undefined : words.playground.noEdits,
  ]
  return html`
    <span class="model">
      <b>${id}</b>
      <span class="hint">${words.playground.from(words.credits.count(lowestCredits(model)))}</span>
      <span class="hint">${takes.filter(Boolean).join(' · ')}</span>
    </span>
  `
}
