import { html } from 'htm/preact'
import { words } from 'words'
import { Picture } from '../../shared/picture.js'
import { useAdmin } from '../admin.js'
import { Ask } from '../parts/ask.js'

/** @typedef {{ readonly prompt: string, readonly images: readonly { readonly n: number }[] }} TaskRequest */

/**
 * The request of a task and the image that it made, which nobody sees before a click. Each look is recorded.
 * @param {{ readonly id: string, readonly hasImage: boolean }} props
 */
export function Contents({ id, hasImage }) {
  const admin = useAdmin()
  const text = words.console.task
  const path = `tasks/${encodeURIComponent(id)}`
  const picture = (/** @type {string} */ label, /** @type {string} */ image) =>
    html`<${Ask}
      key=${image}
      label=${label}
      ask=${() => admin.file(`${path}/${image}`)}
      shown=${(/** @type {Blob} */ blob) => html`<${Picture} blob=${blob} name=${label} />`}
    />`
  return html`
    <${Ask}
      label=${text.request}
      ask=${() => admin.read(`${path}/request`)}
      shown=${(/** @type {TaskRequest} */ { prompt, images }) => html`
        <blockquote class="prompt break">${prompt}</blockquote>
        ${images.map(({ n }) => picture(text.source(n), `request/images/${n}`))}
      `}
    />
    ${hasImage && picture(text.image, 'image?width=1024&format=webp')}
  `
}
