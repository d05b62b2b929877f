import { html } from 'htm/preact'
import { words } from 'words'
import { imageAddress } from '../calls/api.js'
import { Notice } from '../../shared/notice.js'
import { sizeText } from '../form/models.js'
import { isLive } from '../calls/watchTask.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Failure } from '../../shared/callApi.js' */
/** @import { ImageRequest } from '../form/models.js' */

/** @typedef {{ readonly title: string, readonly failure: Failure }} Refusal what the API did not do with the task */

/**
 * The task on display: its progress, its image, or why there is none.
 * @param {{
 *   readonly record: TaskRecord,
 *   readonly request: ImageRequest | undefined,
 *   readonly refusal: Refusal | undefined,
 *   readonly onCancel: () => void,
 *   readonly onDelete: () => void,
 *   readonly onEdit: () => void,
 *   readonly onAgain: () => void,
 * }} props
 */
export function TaskStage({ record, request, refusal, onCancel, onDelete, onEdit, onAgain }) {
  const image = imageAddress(record)
  const prompt = request?.prompt
  const quality = request?.quality && words.playground.quality(request.quality)
  return html`
    <figure class="stage ${record.status}">
      <p class="visually-hidden" role="status">${words.status[record.status]}</p>
      ${plateOf(record, request, image)}
      <figcaption>
        ${prompt && html`<p class="caption">${prompt}</p>`}
        <p class="facts">
          <span>${record.model}</span>
          ${[request?.size && sizeText(request.size), request?.aspect_ratio, quality]
            .filter(Boolean)
            .map((each) => html`<span key=${each}>${each}</span>`)}
          <span>${time.format(new Date(record.completed_at ?? record.created_at))}</span>
        </p>
        <div class="actions">
          ${isLive(record) && html`<button type="button" onClick=${onCancel}>${words.playground.cancel}</button>`}
          ${
            image &&
            html`
              <button type="button" onClick=${onEdit}>${words.playground.editThis}</button>
              <a class="button" href=${image} download=${fileName(record)}
                >${words.playground.download}</a
              >
            `
          }
          ${request && !isLive(record) && html`<button type="button" onClick=${onAgain}>${words.playground.again}</button>`}
          ${!isLive(record) && record.status !== 'expired' && html`<button type="button" onClick=${onDelete}>${words.playground.delete}</button>`}
        </div>
        <div aria-live="polite">${refusal && html`<${Notice} ...${refusal} />`}</div>
      </figcaption>
    </figure>
  `
}

/**
 * @param {TaskRecord} record
 * @param {ImageRequest | undefined} request
 * @param {string | undefined} image
 */
function plateOf(record, request, image) {
  if (image !== undefined) {
    return html`
      <a class="plate" href=${image} target="_blank" rel="noopener" key="image">
        <img src=${image} alt=${request?.prompt ?? words.playground.imageOf(record.model)} />
      </a>
    `
  }
  if (isLive(record)) {
    return html`
      <div class="plate blank" key="live">
        <div class="meter">
          <label for="progress"
            >${record.status === 'queued' ? words.playground.queued : words.playground.developing}</label
          >
          <progress id="progress" max="100" value=${record.progress}></progress>
          <span>${percent.format(record.progress / 100)}</span>
        </div>
      </div>
    `
  }
  if (record.status === 'failed') {
    const failure = record.error ?? { code: 'failed', message: words.playground.failed }
    const title =
      failure.code === 'cancelled' ? words.playground.cancelled : words.playground.noImage
    return html`
      <div class="plate blank" key="failed"><${Notice} title=${title} failure=${failure} /></div>
    `
  }
  return html`
    <div class="plate blank" key="expired">
      <p><b>${words.playground.expired}</b> ${words.playground.notKept}</p>
    </div>
  `
}

/** @param {TaskRecord} record */
function fileName({ task_id, output }) {
  const type = output?.assets[0]?.mime_type ?? 'image/png'
  return `${task_id}.${type.replace('image/', '').replace('jpeg', 'jpg')}`
}

const time = new Intl.DateTimeFormat(words.language, { dateStyle: 'medium', timeStyle: 'short' })
const percent = new Intl.NumberFormat(words.language, { style: 'percent' })
