import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { apiAddress } from '../calls/api.js'

/** @import { ImageRequest } from './models.js' */
/** @import { SourceImage } from './sourceImages.js' */

/**
 * Returns the request as a command for a shell. The key is not in it. Images are read from files with `base64`
 * and sent through a pipe, because an argument of a command may not be that long.
 * @param {ImageRequest} request
 * @param {readonly SourceImage[]} sources
 */
export function curlCommand(request, sources) {
  const document = JSON.stringify(request)
  const call = [
    `curl ${apiAddress('v1/images/tasks')}`,
    '-H "Authorization: Bearer $DARKROOM_API_KEY"',
    "-H 'Content-Type: application/json'",
    '-H "Idempotency-Key: $(openssl rand -hex 16)"',
  ]
  if (request.action !== 'edit') return [...call, `-d ${quoted(document)}`].join(' \\\n  ')
  const images = sources.map(
    ({ name, mimeType }, i) =>
      `  printf '${i === 0 ? '' : ','}{"mime_type":"${mimeType}","data":"'\n` +
      `  base64 < ${quoted(name)} | tr -d '\\n'\n` +
      `  printf '"}'\n`,
  )
  return (
    `{\n  printf %s ${quoted(`${document.slice(0, -1)},"input_images":[`)}\n${images.join('')}` +
    `  printf ']}'\n} | ${[...call, '--data-binary @-'].join(' \\\n  ')}`
  )
}

/**
 * Quotes a text for a POSIX shell.
 * @param {string} text
 */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * The same request as a command to copy.
 * @param {{ readonly request: ImageRequest, readonly sources: readonly SourceImage[] }} props
 */
export function CurlLine({ request, sources }) {
  const [copied, setCopied] = useState('')
  const command = curlCommand(request, sources)
  const copy = async () => {
    // Browsers offer the clipboard over HTTPS and on this machine only.
    const written = await navigator.clipboard?.writeText(command).then(
      () => true,
      () => false,
    )
    setCopied(written ? 'Copied.' : 'The browser does not allow it. Select the text and copy it.')
  }
  return html`
    <details class="curl">
      <summary>The same request with curl</summary>
      <pre tabindex="0" aria-label="Command">${command}</pre>
      <p class="actions">
        <button type="button" onClick=${copy}>Copy</button>
        <span role="status">${copied}</span>
      </p>
    </details>
  `
}
