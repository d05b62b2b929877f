import { html } from 'htm/preact'
import { choose, languages, words } from 'words'

/** A button for each language that the page could have instead, by the name that its readers give it. */
export function LanguageButtons() {
  return languages
    .filter((each) => each !== words)
    .map(
      ({ language, name }) =>
        html`<button
          type="button"
          class="quiet"
          key=${language}
          lang=${language}
          onClick=${() => choose(language)}
        >
          ${name}
        </button>`,
    )
}
