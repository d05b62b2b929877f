import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { recall } from './session.js'
import { Engine } from './engine.js'
import { Notice } from './notice.js'

/** @import { Failure } from './calls/api.js' */

/**
 * Asks for the API key.
 * @param {{
 *   readonly opening: boolean,
 *   readonly failure: Failure | undefined,
 *   readonly onKey: (key: string) => void,
 * }} props
 */
export function SignIn({ opening, failure, onKey }) {
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
  const local = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)
  return html`
    <header class="bar">
      <h1 class="wordmark">Darkroom</h1>
      <${Engine} />
    </header>
    <main class="signin">
      <h2>Make an image.</h2>
      <p>Describe it, or change one you have. Your key stays in this tab until you close it.</p>
      <form onSubmit=${submit} aria-busy=${opening}>
        <label class="label" for="key">API key</label>
        <div class="keyline">
          <input
            id="key"
            ref=${input}
            type="password"
            autocomplete="off"
            spellcheck=${false}
            placeholder="sk-…"
            pattern="[ -~]*"
            title="An API key has letters, digits and signs only."
            defaultValue=${recall('key', '')}
            aria-invalid=${failure?.status === 401}
            aria-describedby="key-hint"
          />
          <button class="primary" type="submit">${opening ? 'Opening…' : 'Open'}</button>
        </div>
        <p id="key-hint" class="hint">
          ${
            local
              ? html`<code>npm start</code> writes one to <code>.data/demo-key</code>.`
              : html`The operator of this Darkroom issues keys.`
          }
        </p>
      </form>
      <div aria-live="assertive">
        ${failure && html`<${Notice} title="The key was not opened" failure=${failure} />`}
      </div>
    </main>
  `
}
