import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { words } from 'words'
import { go, linkTo } from '../address.js'
import { fieldsOf, valuesOf } from './fields.js'
import { nameIn } from './texts.js'

/**
 * A filter. `options` makes it a choice, where `none` stands for the empty one. `isTime` makes it a moment, which stands
 * in the address as ISO 8601 in UTC.
 * @typedef {{
 *   readonly name: string,
 *   readonly options?: readonly (readonly [value: string, label: string])[],
 *   readonly none?: string,
 *   readonly isTime?: boolean,
 * }} Filter
 */

/**
 * The filters of a view. They stand in the address, and with them what is `kept`.
 * @typedef {{
 *   readonly here: readonly string[],
 *   readonly query: Readonly<Record<string, string>>,
 *   readonly filters: readonly Filter[],
 *   readonly kept?: Readonly<Record<string, string | undefined>>,
 * }} FilterForm
 */

/** @param {FilterForm} form */
export function filtersOf(form) {
  return html`<${Filters} ...${form} />`
}

/** @param {FilterForm} props */
function Filters({ here, query, filters, kept }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null))
  // The fields follow the address, also back and forth, but keep what is being typed.
  useEffect(() => {
    for (const field of fieldsOf(form.current)) {
      const value = query[field.name] ?? ''
      field.value = field.type === 'datetime-local' ? localTime(value) : value
    }
  }, [JSON.stringify(query)])
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault()
    const values = valuesOf(form.current, ({ type, value }) =>
      type === 'datetime-local' ? utcTime(value) : value.trim(),
    )
    if (filters.some(({ name }) => values[name] !== (query[name] ?? ''))) {
      go(linkTo(here, { ...values, ...kept }))
    }
  }
  const isUsed = Object.keys(query).length > 0
  return html`
    <form
      class="filters"
      ref=${form}
      role="search"
      aria-label=${words.console.filters}
      onSubmit=${apply}
      onChange=${apply}
    >
      ${filters.map(
        (filter) => html`
          <div class="field" key=${filter.name}>
            <label class="label" for=${`filter-${filter.name}`}>
              ${nameIn(words.console.fields, filter.name)}
            </label>
            ${fieldOf(filter)}
          </div>
        `,
      )}
      <button type="submit">${words.console.show}</button>
      ${isUsed && html`<a class="quiet" href=${linkTo(here, kept)}>${words.console.clear}</a>`}
    </form>
  `
}

/** @param {Filter} filter */
function fieldOf({ name, options, none = words.console.any, isTime }) {
  const id = `filter-${name}`
  if (options === undefined) {
    const type = isTime ? 'datetime-local' : 'text'
    return html`<input id=${id} name=${name} type=${type} autocomplete="off" spellcheck=${false} />`
  }
  return html`
    <select id=${id} name=${name}>
      <option value="">${none}</option>
      ${options.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
    </select>
  `
}

/** @param {string} value a moment in the time of the reader */
function utcTime(value) {
  return value === '' ? '' : new Date(value).toISOString()
}

/** @param {string} value */
function localTime(value) {
  const at = new Date(value)
  if (Number.isNaN(at.valueOf())) return ''
  return new Date(at.valueOf() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
