import { html } from 'htm/preact'
import { useMemo } from 'preact/hooks'
import { words } from 'words'
import { go, linkTo } from '../address.js'
import { valuesOf } from './fields.js'
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
 *   readonly kept?: Readonly<Record<string, string | undefined>> | undefined,
 * }} FilterForm
 */

/** @param {FilterForm} form */
export function filtersOf(form) {
  return html`<${Filters} ...${form} />`
}

/** @param {FilterForm} props */
function Filters({ here, query, filters, kept }) {
  const apply = (/** @type {Event & { currentTarget: HTMLFormElement }} */ event) => {
    event.preventDefault()
    const values = valuesOf(event.currentTarget)
    /** @type {Readonly<Record<string, string>>} */
    const asked = Object.fromEntries(
      filters.map(({ name, isTime }) => {
        const value = values[name] ?? ''
        return [name, isTime && value ? new Date(value).toISOString() : value]
      }),
    )
    if (filters.some(({ name }) => asked[name] !== (query[name] ?? ''))) {
      go(linkTo(here, { ...asked, ...kept }))
    }
  }
  // Drawn again only for another address, also back and forth, so that what is being typed stays.
  return useMemo(
    () => html`
      <form
        class="filters"
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
              ${fieldOf(filter, query[filter.name] ?? '')}
            </div>
          `,
        )}
        <button type="submit">${words.console.show}</button>
        ${
          Object.keys(query).length > 0 &&
          html`<a class="quiet" href=${linkTo(here, kept)}>${words.console.clear}</a>`
        }
      </form>
    `,
    [JSON.stringify([here, query])],
  )
}

/**
 * @param {Filter} filter
 * @param {string} value
 */
function fieldOf({ name, options, none = words.console.any, isTime }, value) {
  const id = `filter-${name}`
  if (options === undefined) {
    return html`<input
      id=${id}
      name=${name}
      type=${isTime ? 'datetime-local' : 'text'}
      value=${isTime ? localTime(value) : value}
      autocomplete="off"
      spellcheck=${false}
    />`
  }
  return html`
    <select id=${id} name=${name} value=${value}>
      <option value="">${none}</option>
      ${options.map(([each, label]) => html`<option key=${each} value=${each}>${label}</option>`)}
    </select>
  `
}

/** @param {string} value a moment, for a field that shows it in the time of the reader */
function localTime(value) {
  const at = new Date(value)
  if (Number.isNaN(at.valueOf())) return ''
  return new Date(at.valueOf() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
