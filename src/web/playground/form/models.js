/** @import { z } from 'zod' */
/** @import { ModelId } from '../../../domain/models/models.ts' */
/** @import { model } from '../../../schema/answers/modelsAnswer.ts' */

/**
 * @typedef {z.infer<typeof model>} Model
 *
 * The body of a submit, without its images.
 * @typedef {{
 *   readonly model: ModelId,
 *   readonly action: 'generate' | 'edit',
 *   readonly prompt: string,
 *   readonly size?: string | undefined,
 *   readonly aspect_ratio?: string | undefined,
 *   readonly quality?: string | undefined,
 * }} ImageRequest
 *
 * The form as the user left it. A field that the chosen model does not take stays in the draft, so that it is there
 * again when the user returns to a model that takes it.
 * @typedef {Omit<ImageRequest, 'model'> & { readonly model?: ModelId }} Draft
 */

/** @type {Draft} */
export const emptyDraft = { action: 'generate', prompt: '', quality: 'medium' }

/**
 * Returns the fields that a model offers, each with its value in this draft. A single size is not offered: there
 * is nothing to choose. An empty ratio means that the model decides.
 * @param {Draft} draft
 * @param {Model} model
 */
export function optionsOf(draft, model) {
  const { actions, sizes, aspect_ratios: ratios, qualities } = model
  /** @param {readonly string[]} values @param {string | undefined} value */
  const options = (values, value) => /** @type {const} */ ([values, among(values, value)])
  return {
    actions,
    action: among(actions, draft.action) ?? 'generate',
    fields: /** @type {const} */ ([
      ['size', ...options(sizes.length > 1 ? sizes : [], draft.size)],
      ['aspect_ratio', ...options(ratios ? ['', ...ratios] : [], draft.aspect_ratio)],
      ['quality', ...options(qualities ?? [], draft.quality)],
    ]),
  }
}

/**
 * @template T
 * @param {readonly T[]} values
 * @param {T} value
 */
function among(values, value) {
  return values.includes(value) ? value : values[0]
}

/**
 * Returns the request that a draft asks for.
 * @param {Draft} draft
 * @param {Model} model
 * @returns {ImageRequest}
 */
export function requestOf(draft, model) {
  const { action, fields } = optionsOf(draft, model)
  const chosen = fields.flatMap(([name, , value]) => (value ? [[name, value]] : []))
  return { model: model.id, action, prompt: draft.prompt, ...Object.fromEntries(chosen) }
}

/**
 * Returns what a submit of this request holds: the first price line that matches. A line without a field
 * matches any value of it, and a line with a field does not match a request without it.
 * @param {Model} model
 * @param {ImageRequest} request
 * @param {number} images
 */
export function creditsOf(model, { action, size, quality }, images) {
  const line = model.prices.find(
    (price) =>
      (price.size === undefined || price.size === size) &&
      (price.quality === undefined || price.quality === quality) &&
      (price.action === undefined || price.action === action),
  )
  return line && line.credits + line.credits_per_input_image * (action === 'edit' ? images : 0)
}

/**
 * Returns the lowest price of a model.
 * @param {Model} model
 */
export function lowestCredits(model) {
  return Math.min(...model.prices.map(({ credits }) => credits))
}

/**
 * Returns a size as people write it, such as `1024 × 1024`.
 * @param {string} size
 */
export function sizeText(size) {
  return size.replace('x', ' × ')
}
