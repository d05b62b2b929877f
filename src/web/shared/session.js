/**
 * What the page keeps in this tab: the API key, the draft, and what it knows of its tasks. A reload finds all of it. It is gone when the tab is closed, and no other tab reads it.
 */
const prefix = 'darkroom.'

/**
 * Returns what `keep` stored under a name, or `fallback`.
 * @template T
 * @param {string} name
 * @param {T} fallback
 * @returns {T}
 */
export function recall(name, fallback) {
  try {
    const text = sessionStorage.getItem(prefix + name)
    return text === null ? fallback : JSON.parse(text)
  } catch {
    return fallback
  }
}

/**
 * Stores a value as JSON. `undefined` removes it. Where the browser forbids storage, the page works until a
 * reload.
 * @param {string} name
 * @param {unknown} value
 */
export function keep(name, value) {
  try {
    if (value === undefined) sessionStorage.removeItem(prefix + name)
    else sessionStorage.setItem(prefix + name, JSON.stringify(value))
  } catch {
    // Storage is full or forbidden.
  }
}

/** Forgets everything, when the user signs out. */
export function forgetAll() {
  try {
    sessionStorage.clear()
  } catch {
    // Storage is forbidden, so there is nothing to forget.
  }
}

/**
 * Returns a name that nobody else has. `crypto.randomUUID` would do, but browsers offer it over HTTPS and on this
 * machine only.
 */
export function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
