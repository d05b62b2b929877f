import { html } from 'htm/preact'
import { words } from 'words'

/**
 * Stands where the image will be, with prompts to begin with.
 * @param {{ readonly onExample: (prompt: string) => void }} props
 */
export function EmptyStage({ onExample }) {
  return html`
    <div class="stage plate blank empty">
      <p>${words.playground.empty}</p>
      <p class="actions">
        ${words.playground.examples.map(
          (text) =>
            html`<button type="button" key=${text} onClick=${() => onExample(text)}>
              ${text}
            </button>`,
        )}
      </p>
    </div>
  `
}
