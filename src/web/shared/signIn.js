import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { words } from 'words'
import { LanguageButtons } from './languageButtons.js'
import { Notice } from './notice.js'

/** @import { ComponentChildren } from 'preact' */
/** @import { Failure } from './callApi.js' */

/**
 * Asks for a key.
 * @param {{
 *   readonly title: string,
 *   readonly text: string,
 *   readonly label: string,
 *   readonly hint: string,
 *   readonly placeholder?: string,
 *   readonly kept: string,
 *   readonly opening: boolean,
 *   readonly failure: Failure | undefined,
 *   readonly onKey: (key: string) => void,
 *   readonly children?: ComponentChildren,
 * }} props `kept` is the key that this tab has, and `children` stand in the head of the page
 */
export function SignIn(props) {
  const { title, text, label, hint, placeholder, kept, opening, failure, onKey, children } = props
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  useEffect(() => {
    if (!opening) input.current?.focus()
  }, [opening, failure])

  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    const key = input.current?.value.trim() ?? ''
    if (key === '') input.current?.focus()
    else onKey(key)
  }
  return html`
    <header class="bar">
      <h1 class="wordmark">Darkroom</h1>
      ${children}
      <${LanguageButtons} />
    </header>
    <main class="signin">
      <h2>${title}</h2>
      <p>${words.signIn.text(text)}</p>
      <form onSubmit=${submit} aria-busy=${opening}>
        <label class="label" for="key">${label}</label>
        <div class="keyline">
          <input
            id="key"
            ref=${input}
            type="password"
            autocomplete="off"
            spellcheck=${false}
            placeholder=${placeholder}
            pattern="[ -~]*"
            title=${words.signIn.characters}
            defaultValue=${kept}
            aria-invalid=${failure?.status === 401}
            aria-describedby="key-hint"
          />
          <button class="primary" type="submit">
            ${opening ? words.signIn.opening : words.signIn.open}
          </button>
        </div>
        <p id="key-hint" class="hint">${hint}</p>
      </form>
      <div aria-live="assertive">
        ${failure && html`<${Notice} title=${words.signIn.failed} failure=${failure} />`}
      </div>
    </main>
  `
}
