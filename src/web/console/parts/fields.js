/**
 * Returns what a person has put into the fields of a form, by their names.
 * @param {HTMLFormElement} form
 */
export function valuesOf(form) {
  /** @type {Readonly<Record<string, string>>} */
  const values = Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [
      name,
      typeof value === 'string' ? value.trim() : '',
    ]),
  )
  return values
}
