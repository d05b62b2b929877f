import { html } from 'htm/preact'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */

/**
 * Tells a screen reader how the task on display goes on. Everybody else sees it.
 * @param {{ readonly record: TaskRecord | undefined }} props
 */
export function Announcer({ record }) {
  return html`<p class="visually-hidden" role="status">${announcementOf(record)}</p>`
}

/**
 * Returns one sentence. Progress is said in quarters, because a reader would speak all the time otherwise.
 * @param {TaskRecord | undefined} record
 */
function announcementOf(record) {
  switch (record?.status) {
    case undefined:
      return ''
    case 'queued':
      return 'Queued.'
    case 'processing':
      return `In progress, ${Math.floor(record.progress / 25) * 25} percent.`
    case 'succeeded':
      return 'The image is finished.'
    case 'failed':
      return `No image. ${record.error?.message ?? ''}`
    case 'expired':
      return 'The image has expired.'
    default:
      return ''
  }
}
