import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { keep, recall } from '../../shared/session.js'
import { go, linkTo, queryOf } from '../address.js'
import { useAdmin, useRead, useRound } from '../admin.js'
import { act } from '../parts/act.js'
import { facts, told } from '../parts/notices.js'
import { accountLink, code, nameIn, numberText, state, taskLink, when } from '../parts/texts.js'
import { Contents } from './contents.js'
import { timelineOf } from './timeline.js'

/** @import { Reading } from '../admin.js' */
/** @import { Answer } from '../../shared/callApi.js' */
/** @import { EventJson, TaskRow, TaskStory } from '../../../operations/tasks.ts' */

const liveMs = 1_500
const laterMs = 30_000

/**
 * The story of one task on one screen. `query` has the filters of the list that led here.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
export function TaskView({ id, query }) {
  const admin = useAdmin()
  const path = `tasks/${encodeURIComponent(id)}`
  const [everyMs, setEveryMs] = useState(liveMs)
  const [round, again] = useRound()
  /** @type {Reading<TaskStory>} */
  const { value, failure } = useRead(path, { everyMs, round })
  const text = words.console.task
  const isLive = value?.status === 'queued' || value?.status === 'processing'
  if (value && isLive !== (everyMs === liveMs)) setEveryMs(isLive ? liveMs : laterMs)
  const cancel = () =>
    act({
      label: text.cancel,
      title: text.cancelTitle,
      text: text.cancelText,
      run: () => admin.change('POST', `${path}/cancel`),
      onDone: again,
    })
  const purge = () =>
    act({
      label: text.purge,
      title: text.purgeTitle,
      text: text.purgeText,
      run: () => admin.change('DELETE', path),
      onDone: again,
    })
  const retry = (/** @type {TaskStory} */ { credits }) =>
    act({
      label: text.retry,
      title: text.retryTitle,
      text: text.retryText(credits),
      kind: 'primary',
      run: () => admin.change('POST', `${path}/retry`),
      onDone: (/** @type {{ readonly task_id: string }} */ { task_id: next }) =>
        go(linkTo(['tasks', next], query)),
    })
  return html`
    <div class="heading">
      <h2>${words.console.fields.task}</h2>
      ${code(id)}
      <${Neighbours} id=${id} query=${query} />
    </div>
    ${told(failure)}
    ${
      value &&
      html`
        <div class="actions">
          ${state(value.status)} ${isLive && cancel()}
          ${value.status === 'failed' && !value.retried_as && retry(value)} ${!isLive && purge()}
          ${
            value.workflow_url &&
            html`<a class="button" href=${value.workflow_url} target="_blank" rel="noopener"
              >${text.run}</a
            >`
          }
        </div>
        ${whyFailed(value)}
        <div class="columns story">
          <section aria-labelledby="timeline">
            <h3 id="timeline">${text.timeline}</h3>
            ${timelineOf(value.timeline)}
          </section>
          <section aria-labelledby="facts">
            <h3 id="facts">${text.facts}</h3>
            ${factsOf(value)}
            ${
              admin.isOperator &&
              html`<div class="contents">
                <h3>${text.contents}</h3>
                <p class="hint">${text.recorded}</p>
                <${Contents} id=${id} hasImage=${value.status === 'succeeded'} />
              </div>`
            }
          </section>
        </div>
      `
    }
  `
}

/** @param {TaskStory} story */
function whyFailed({ timeline }) {
  const failed = timeline.find(({ event }) => event === 'failed')
  if (failed === undefined) return null
  const call = timeline.findLast(({ event }) => event === 'attempt_closed')
  const { cause } = failed
  const why = [cause && nameIn(words.console.outcomes, String(cause)), call && callText(call)]
    .filter(Boolean)
    .join(' · ')
  return html`<div class="notice">
    <p><b>${words.console.task.failed}</b> ${code(failed['code'])}</p>
    <p>${why}</p>
  </div>`
}

/** @param {EventJson} call */
function callText({ class: outcome = '', reason, http_status: status, channel = '' }) {
  const named = nameIn(words.console.outcomes, String(outcome))
  const told = [named, reason, status && `HTTP ${status}`].filter(Boolean).join(words.comma)
  return words.console.task.lastCall(told, String(channel))
}

/** @param {TaskStory} story */
function factsOf(story) {
  const { fields } = words.console
  const { actions, quality } = words.playground
  const asked = [nameIn(actions, story.action), story.size, story.quality && quality(story.quality)]
  return facts([
    [fields.account, accountLink(story.account)],
    [fields.key, code(story.key_id)],
    [fields.model, story.model],
    [fields.action, asked.filter(Boolean).join(' · ')],
    [fields.route, code(story.route)],
    [fields.credits, numberText(story.credits)],
    [fields.charged, story.charged === undefined ? undefined : numberText(story.charged)],
    [fields.delivered, story.delivered],
    [fields.created_at, when(story.created_at)],
    [fields.deadline_at, when(story.deadline_at)],
    [fields.expires_at, story.expires_at && when(story.expires_at)],
    [fields.request_id, code(story.request_id)],
    [fields.retry_of, taskLink(story.retry_of)],
    [fields.retried_as, taskLink(story.retried_as)],
  ])
}

/**
 * Leads to the task before and after this one in the list, and back to the list.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props
 */
function Neighbours({ id, query }) {
  const admin = useAdmin()
  const listed = recall('listed', /** @type {readonly string[]} */ ([]))
  const at = listed.indexOf(id)
  const before = at > 0 ? listed[at - 1] : undefined
  const show = (/** @type {string} */ taskId) => go(linkTo(['tasks', taskId], query))
  const next = async () => {
    const known = at < 0 ? undefined : listed[at + 1]
    if (known !== undefined) return show(known)
    /** @type {Answer<{ readonly data: readonly TaskRow[] }>} */
    const answer = await admin.read(`tasks${queryOf({ ...query, limit: '20', after: id })}`)
    const more = answer.ok ? answer.value.data.map(({ task_id: taskId }) => taskId) : []
    keep('listed', [...(at < 0 ? [id] : listed), ...more])
    return more[0] === undefined ? undefined : show(more[0])
  }
  const text = words.console
  return html`
    <nav class="actions" aria-label=${text.pages}>
      <a class="button" href=${linkTo(['tasks'], query)}>${text.task.list}</a>
      ${before && html`<button type="button" onClick=${() => show(before)}>${text.task.previous}</button>`}
      <button type="button" onClick=${next}>${text.task.next}</button>
    </nav>
  `
}
