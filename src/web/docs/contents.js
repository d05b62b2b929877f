import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** @import { Operation } from './apiDocument.js' */

/**
 * A place to go to. `words` is what a search looks through.
 * @typedef {{ readonly id: string, readonly title: string, readonly group: string, readonly words: string }} Place
 */

/**
 * Returns the chapters of the guide, which is part of the page.
 * @returns {readonly Place[]}
 */
function chapters() {
  return [...document.querySelectorAll('#guide :is(h2, h3)')].map((heading) => {
    const title = heading.textContent ?? ''
    let words = title
    let next = heading.nextElementSibling
    for (; next !== null && !/^H[23]$/.test(next.tagName); next = next.nextElementSibling) {
      words += ` ${next.textContent}`
    }
    return { id: heading.id, title, group: 'Guide', words }
  })
}

/**
 * The contents, and a search in guide and reference. `/` leads to it, Enter leads to the first hit.
 * @param {{ readonly operations: readonly Operation[] }} props
 */
export function Contents({ operations }) {
  const [query, setQuery] = useState('')
  const [wide] = useState(() => matchMedia('(min-width: 960px)').matches)
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  const [places] = useState(() => [
    ...chapters(),
    ...operations.map(({ id, tag, summary, ...rest }) => ({
      id,
      title: summary,
      group: tag,
      words: [id, tag, summary, JSON.stringify(rest)].join(' '),
    })),
  ])
  useEffect(() => {
    const focus = (/** @type {KeyboardEvent} */ event) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea')
      if (event.key !== '/' || typing) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])

  const wanted = query.toLowerCase().split(/\s+/)
  const found = places.filter(({ words }) =>
    wanted.every((word) => words.toLowerCase().includes(word)),
  )
  const goToFirst = (/** @type {Event} */ event) => {
    event.preventDefault()
    if (found[0]) location.hash = found[0].id
  }
  return html`
    <form role="search" onSubmit=${goToFirst}>
      <input
        ref=${input}
        type="search"
        placeholder="Search, or press /"
        aria-label="Search the guide and the reference"
        value=${query}
        onInput=${(/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setQuery(currentTarget.value)}
      />
    </form>
    <p class="visually-hidden" role="status">${query && `${found.length} found`}</p>
    <details open=${wide || query !== ''}>
      <summary>Contents</summary>
      ${found.length === 0 && html`<p class="hint">Nothing has these words.</p>`}
      ${[...Map.groupBy(found, ({ group }) => group)].map(
        ([group, members]) => html`
          <p class="label" key=${group}>${group}</p>
          <ul key=${`${group} list`}>
            ${members.map(
              ({ id, title }) => html`<li key=${id}><a href="#${id}">${title}</a></li>`,
            )}
          </ul>
        `,
      )}
    </details>
  `
}
