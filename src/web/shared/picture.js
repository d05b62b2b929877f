import { html } from 'htm/preact'
import { useEffect, useMemo } from 'preact/hooks'

/**
 * Shows an image that is in the memory of the page.
 * @param {{ readonly blob: Blob, readonly name: string }} props
 */
export function Picture({ blob, name }) {
  const url = useMemo(() => URL.createObjectURL(blob), [blob])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return html`<img class="picture" src=${url} alt=${name} />`
}
