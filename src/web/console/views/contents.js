import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { useAdmin } from '../admin.js'
import { told } from '../parts/notices.js'

/** @import { Failure } from '../../shared/callApi.js' */

/** @typedef {{ readonly prompt: string, readonly images: readonly { readonly n: number }[] }} TaskRequest */

/**
 * The request of a task, which nobody sees before a click. Each look is recorded.
 * @param {{ readonly id: string }} props
 */
export function Request({ id }) {
  const admin = useAdmin()
  const [request, setRequest] = useState(/** @type {TaskRequest | undefined} */ (undefined))
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const path = `tasks/${encodeURIComponent(id)}/request`
  const show = async () => {
    /** @type {import('../../shared/callApi.js').Answer<TaskRequest>} */
    const answer = await admin.read(path)
    setFailure(answer.ok ? undefined : answer.failure)
    if (answer.ok) setRequest(answer.value)
  }
  if (request === undefined) {
    return html`
      <button type="button" onClick=${show}>${words.console.task.request}</button>
      ${told(failure)}
    `
  }
  return html`
    <blockquote class="prompt break">${request.prompt}</blockquote>
    ${request.images.map(
      ({ n }) =>
        html`<${Picture}
          key=${n}
          path=${`${path}/images/${n}`}
          label=${words.console.task.source(n)}
        />`,
    )}
  `
}

/**
 * The image that a task made.
 * @param {{ readonly id: string }} props
 */
export function Made({ id }) {
  const path = `tasks/${encodeURIComponent(id)}/image`
  return html`<${Picture} path=${path} label=${words.console.task.image} />`
}

/**
 * An image that is read at a click.
 * @param {{ readonly path: string, readonly label: string }} props
 */
function Picture({ path, label }) {
  const admin = useAdmin()
  const [url, setUrl] = useState('')
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  const show = async () => {
    const answer = await admin.file(path)
    setFailure(answer.ok ? undefined : answer.failure)
    if (answer.ok) setUrl(URL.createObjectURL(answer.value))
  }
  if (url) return html`<img class="picture" src=${url} alt=${label} />`
  return html`
    <button type="button" onClick=${show}>${label}</button>
    ${told(failure)}
  `
}
