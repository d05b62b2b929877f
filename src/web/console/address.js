import { useLayoutEffect, useState } from 'preact/hooks'

/**
 * What the page shows, as its address says it after `#`: `/tasks/task_1?status=failed`. So every view can be shared, and
 * the browser's buttons lead back and forth.
 * @typedef {{
 *   readonly path: readonly string[],
 *   readonly query: Readonly<Record<string, string>>,
 * }} Address
 */

/** @returns {Address} */
function readAddress() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Returns the address of a view, for a link. Empty values are left out.
 * @param {readonly string[]} path
 * @param {Readonly<Record<string, string | undefined>>} [query]
 */
export function linkTo(path, query = {}) {
  return `#/${path.map(encodeURIComponent).join('/')}${queryOf(query)}`
}

/**
 * Returns a query with its `?`, or an empty text. Empty values are left out.
 * @param {Readonly<Record<string, string | undefined>>} query
 */
export function queryOf(query) {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value)
  return given.size === 0 ? '' : `?${given}`
}

/**
 * Shows another view.
 * @param {string} link
 * @param {{ readonly replace?: boolean }} [how]
 */
export function go(link, { replace = false } = {}) {
  if (replace) history.replaceState(null, '', link)
  else history.pushState(null, '', link)
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Returns the address now, and draws again when it changes. */
export function useAddress() {
  const [address, setAddress] = useState(readAddress)
  // Before the browser paints: who clicks as soon as the menu is seen would otherwise wait for a view that never comes.
  useLayoutEffect(() => {
    const change = () => setAddress(readAddress())
    addEventListener('popstate', change)
    return () => removeEventListener('popstate', change)
  }, [])
  return address
}
