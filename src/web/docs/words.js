import { html } from 'htm/preact'

/**
 * A text of the document, with what stands between backticks as code.
 * @param {{ readonly text: string | undefined }} props
 */
export function Words({ text = '' }) {
  return text
    .split('`')
    .map((part, i) => (i % 2 === 1 ? html`<code key=${i}>${part}</code>` : part))
}
