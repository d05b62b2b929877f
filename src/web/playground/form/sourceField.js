import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import { filesOf, sizeText, sourceImagesMax } from './sourceImages.js'

/** @import { NewImage, SourceImage } from './sourceImages.js' */

/**
 * The source images of an edit: a place to drop or choose files, and the images as thumbnails. Dropping and
 * pasting work on the whole page.
 * @param {{
 *   readonly sources: readonly SourceImage[],
 *   readonly refusals: readonly string[],
 *   readonly hidden: boolean,
 *   readonly onFiles: (files: readonly NewImage[]) => void,
 *   readonly onRemove: (id: string) => void,
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
  const remove = (/** @type {string} */ id) => {
    onRemove(id)
    input.current?.focus()
  }
  const totalBytes = sources.reduce((sum, { blob }) => sum + blob.size, 0)
  return html`
    <div class="sources" hidden=${hidden}>
      <p class="label" id="sources-label">Source images</p>
      ${
        sources.length > 0 &&
        html`<ul class="thumbs" aria-labelledby="sources-label">
          ${sources.map(
            ({ id, url, name, blob }) => html`
              <li key=${id}>
                <img src=${url} alt=${name} title="${name}, ${sizeText(blob.size)}" />
                <button type="button" aria-label="Remove ${name}" onClick=${() => remove(id)}>
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
        <span><b>Choose images</b>, drop or paste them</span>
      </label>
      <p class="hint" id="sources-hint">
        ${
          sources.length === 0
            ? `PNG, JPEG or WebP. Up to ${sourceImagesMax} images of 20 MiB, 64 MiB in all.`
            : `${sources.length} of ${sourceImagesMax} images, ${sizeText(totalBytes)} of 64 MiB.`
        }
      </p>
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
