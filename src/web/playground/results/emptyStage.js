import { html } from 'htm/preact'

const examples = [
  'A lighthouse at dusk',
  'Paper boats on a canal, seen from above',
  'A desk by the window, first snow outside',
]

/**
 * Stands where the image will be, with prompts to begin with.
 * @param {{ readonly onExample: (prompt: string) => void }} props
 */
export function EmptyStage({ onExample }) {
  return html`
    <div class="stage plate blank empty">
      <p>Your image appears here. Describe it, or begin with one of these.</p>
      <p class="actions">
        ${examples.map(
          (text) =>
            html`<button type="button" key=${text} onClick=${() => onExample(text)}>
              ${text}
            </button>`,
        )}
      </p>
    </div>
  `
}
