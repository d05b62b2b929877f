import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { words } from 'words'
import { Picture } from '../../shared/picture.js'
import { filesOf } from './sourceImages.js'

/** @import { NewImage, SourceImage } from './sourceImages.js' */

/**
 * The source images of an edit: a place to drop or choose files, and the images as thumbnails. Dropping and
 * pasting work on the whole page.
 * @param {{
 *   readonly sources: readonly SourceImage[],
 *   readonly refusals: readonly string[],
 *   readonly hidden: boolean,
 *   readonly onFiles: (files: readonly NewImage[]) => void,
 *   readonly onRemove: (image: SourceImage) => void,
 * }} props
 */
export function SourceField({ sources, refusals, hidden, onFiles, onRemove }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  useDroppedFiles(onFiles)
  const choose = () => {
    const files = [...(input.current?.files ?? [])]
    onFiles(files.map((file) => ({ name: file.name, blob: file })))
    // Otherwise the browser would report no change when the user chooses the same file again.
    if (input.current) input.current.value = ''
  }
  const remove = (/** @type {SourceImage} */ image) => {
    onRemove(image)
    input.current?.focus()
  }
  return html`
    <div class="sources" hidden=${hidden}>
      <p class="label" id="sources-label">${words.playground.sources}</p>
      ${
        sources.length > 0 &&
        html`<ul class="thumbs" aria-labelledby="sources-label">
          ${sources.map(
            (image, i) => html`
              <li key=${`${image.name} ${i}`}>
                <${Picture} ...${image} />
                <button
                  type="button"
                  aria-label=${words.playground.remove(image.name)}
                  onClick=${() => remove(image)}
                >
                  ×
                </button>
              </li>
            `,
          )}
        </ul>`
      }
      <label class="drop">
        <input
          ref=${input}
          type="file"
          multiple
          accept="image/png,image/jpeg,image/webp"
          aria-describedby="sources-hint"
          onChange=${choose}
        />
        <span><b>${words.playground.choose}</b>${words.playground.drop}</span>
      </label>
      <p class="hint" id="sources-hint">${words.playground.sourcesHint}</p>
    </div>
    <div aria-live="polite">
      ${refusals.map((text) => html`<p class="refusal" key=${text}>${text}</p>`)}
    </div>
  `
}

/**
 * Calls `onFiles` with files that are dropped or pasted anywhere on the page.
 * @param {(files: readonly NewImage[]) => void} onFiles
 */
function useDroppedFiles(onFiles) {
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const take = (/** @type {Event} */ event, /** @type {DataTransfer | null} */ transfer) => {
      const files = filesOf(transfer)
      if (files.length === 0) return
      event.preventDefault()
      onFiles(files)
    }
    addEventListener('paste', (event) => take(event, event.clipboardData), { signal })
    addEventListener('drop', (event) => take(event, event.dataTransfer), { signal })
    // Without this, the browser would open a dropped file.
    addEventListener('dragover', (event) => event.preventDefault(), { signal })
    return () => stop.abort()
  }, [onFiles])
}
