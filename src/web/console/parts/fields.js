/**
 * Returns the fields of a form that a person fills in.
 * @param {HTMLFormElement | null} form
 */
export function fieldsOf(form) {
  return [...(form?.elements ?? [])].filter(
    (each) => each instanceof HTMLInputElement || each instanceof HTMLSelectElement,
  )
}

/**
 * Returns what stands in the fields of a form, by their names.
 * @param {HTMLFormElement | null} form
 * @param {(field: HTMLInputElement | HTMLSelectElement) => string} [read]
 */
export function valuesOf(form, read = ({ value }) => value.trim()) {
  /** @type {Readonly<Record<string, string>>} */
  const values = Object.fromEntries(fieldsOf(form).map((field) => [field.name, read(field)]))
  return values
}
