/** @import { ModelId } from '../../../domain/models/models.ts' */

/**
 * @typedef {'generate' | 'edit'} Action
 *
 * @typedef {{
 *   readonly size?: string,
 *   readonly quality?: string,
 *   readonly action?: Action,
 *   readonly credits: number,
 *   readonly credits_per_input_image: number,
 * }} PriceLine
 *
 * @typedef {{
 *   readonly id: ModelId,
 *   readonly family: 'A' | 'B',
 *   readonly actions: readonly Action[],
 *   readonly sizes: readonly string[],
 *   readonly aspect_ratios: readonly string[] | null,
 *   readonly qualities: readonly string[] | null,
 *   readonly prices: readonly PriceLine[],
 * }} Model
 *
 * The form as the user left it. A field that the chosen model does not take stays in the draft, so that it is there
 * again when the user returns to a model that takes it.
 * @typedef {{
 *   readonly model: string,
 *   readonly action: Action,
 *   readonly prompt: string,
 *   readonly size: string,
 *   readonly ratio: string,
 *   readonly quality: string,
 * }} Draft
 *
 * The body of a submit, without its images.
 * @typedef {{
 *   readonly model: ModelId,
 *   readonly action: Action,
 *   readonly prompt: string,
 *   readonly size?: string | undefined,
 *   readonly aspect_ratio?: string | undefined,
 *   readonly quality?: string | undefined,
 * }} ImageRequest
 */

/** @type {Draft} */
export const emptyDraft = {
  model: '',
  action: 'generate',
  prompt: '',
  size: '',
  ratio: '',
  quality: 'medium',
}

/**
 * Returns the fields that a model offers, each with its value in this draft. A single size is not offered: there
 * is nothing to choose. An empty ratio means that the model decides.
 * @param {Draft} draft
 * @param {Model} model
 */
export function optionsOf(draft, model) {
  const sizes = model.sizes.length > 1 ? model.sizes : []
  const ratios = model.aspect_ratios ?? []
  const qualities = model.qualities ?? []
  return {
    actions: model.actions,
    action: among(model.actions, draft.action) ?? 'generate',
    sizes,
    size: among(sizes, draft.size),
    ratios: ratios.length > 0 ? ['', ...ratios] : [],
    ratio: ratios.includes(draft.ratio) ? draft.ratio : '',
    qualities,
    quality: among(qualities, draft.quality),
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
  const { action, size, ratio, quality } = optionsOf(draft, model)
  return {
    model: model.id,
    action,
    prompt: draft.prompt,
    ...(size && { size }),
    ...(ratio && { aspect_ratio: ratio }),
    ...(quality && { quality }),
  }
}

/**
 * Returns the draft from which `requestOf` makes this request, so that the form shows it again.
 * @param {Draft} draft
 * @param {ImageRequest} request
 * @returns {Draft}
 */
export function draftOf(draft, { model, action, prompt, size, aspect_ratio, quality }) {
  return {
    model,
    action,
    prompt,
    size: size ?? draft.size,
    ratio: aspect_ratio ?? '',
    quality: quality ?? draft.quality,
  }
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

const number = new Intl.NumberFormat('en')

/**
 * Returns an amount of credits as text.
 * @param {number} credits
 */
export function creditsText(credits) {
  return `${number.format(credits)} ${credits === 1 ? 'credit' : 'credits'}`
}
