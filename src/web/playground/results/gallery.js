import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { imageAddress } from '../calls/api.js'
import { Notice } from '../../shared/notice.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { ImageRequest } from '../form/models.js' */
/** @import { Tasks } from './useTasks.js' */

/**
 * The tasks of the account, newest first.
 * @param {{
 *   readonly tasks: Tasks,
 *   readonly shownId: string | undefined,
 *   readonly onShow: (taskId: string) => void,
 *   readonly onMore: () => void,
 * }} props
 */
export function Gallery({ tasks, shownId, onShow, onMore }) {
  const { requests, order, hasMore, loading, failure } = tasks
  return html`
    <section class="gallery" aria-labelledby="gallery-title" aria-busy=${loading}>
      <h2 id="gallery-title">${words.playground.gallery}</h2>
      ${order.length === 0 && !loading && !failure && html`<p class="hint">${words.playground.galleryEmpty}</p>`}
      <ul class="tiles">
        ${order.map(
          (record) => html`
            <li key=${record.task_id}>
              <${Tile}
                record=${record}
                request=${requests[record.task_id]}
                shown=${record.task_id === shownId}
                onShow=${onShow}
              />
            </li>
          `,
        )}
      </ul>
      ${failure && html`<${Notice} title=${words.playground.galleryFailed} failure=${failure} />`}
      ${
        (hasMore || failure) &&
        html`<p class="actions">
          <button type="button" onClick=${onMore} aria-disabled=${loading}>
            ${failure ? words.playground.tryAgain : words.playground.older}
          </button>
        </p>`
      }
    </section>
  `
}

/**
 * @param {{
 *   readonly record: TaskRecord,
 *   readonly request: ImageRequest | undefined,
 *   readonly shown: boolean,
 *   readonly onShow: (taskId: string) => void,
 * }} props
 */
function Tile({ record, request, shown, onShow }) {
  const image = imageAddress(record)
  const name = request?.prompt ?? record.model
  return html`
    <button
      type="button"
      class="tile ${record.status}"
      aria-current=${shown}
      title=${name}
      onClick=${() => onShow(record.task_id)}
    >
      ${
        image
          ? html`<${Thumbnail} image=${image} name=${name} />`
          : html`<span class="tile-text">
              <span class="visually-hidden">${name}</span>
              <b>${words.status[record.status]}</b>
            </span>`
      }
    </button>
  `
}

/**
 * A small image, sharp on fine screens too. Where it cannot be made, the image itself.
 * @param {{ readonly image: string, readonly name: string }} props
 */
function Thumbnail({ image, name }) {
  const small = (/** @type {number} */ width) => `${image}&width=${width}&format=webp`
  const [failed, setFailed] = useState(false)
  return html`<img
    src=${failed ? image : small(256)}
    srcset=${failed ? undefined : `${small(512)} 2x`}
    alt=${name}
    loading="lazy"
    decoding="async"
    onError=${() => setFailed(true)}
  />`
}
