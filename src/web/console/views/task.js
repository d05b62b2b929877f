import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { words } from 'words'
import { go, linkTo, queryOf } from '../address.js'
import { useAdmin, useRead } from '../admin.js'
import { keep, recall } from '../../shared/session.js'
import { Act } from '../parts/act.js'
import { Told } from '../parts/listing.js'
import { numberText, State, When } from '../parts/texts.js'
import { Facts } from '../parts/tiles.js'
import { Made, Request } from './contents.js'
import { Timeline } from './timeline.js'

/** @import { Reading } from '../admin.js' */
/** @import { Task, TaskStory } from '../records.ts' */

const liveMs = 1_500
const laterMs = 30_000

/**
 * The story of one task on one screen.
 * @param {{ readonly id: string, readonly query: Readonly<Record<string, string>> }} props `query`: the filters of the
 * list that led here
 */
export function TaskView({ id, query }) {
  const admin = useAdmin()
  const [live, setLive] = useState(true)
  /** @type {Reading<TaskStory>} */
  const { value, failure, reload } = useRead(
    `tasks/${encodeURIComponent(id)}`,
    live ? liveMs : laterMs,
  )
  const text = words.console.task
  const isLive = value?.status === 'queued' || value?.status === 'processing'
  if (value && live !== isLive) setLive(isLive)
  const post = (/** @type {string} */ what) => () =>
    admin.change('POST', `tasks/${encodeURIComponent(id)}/${what}`)
  const failed = value?.timeline.find(({ event }) => event === 'failed')
  const lastCall = value?.timeline.findLast(({ event }) => event === 'attempt_closed')
  return html`
    <div class="heading">
      <h2>${words.console.fields.task}</h2>
      <code class="break">${id}</code>
      <${Neighbours} id=${id} query=${query} />
    </div>
    <${Told} failure=${failure} />
    ${
      value &&
      html`
        <div class="actions">
          <${State} is=${value.status} />
          ${
            isLive &&
            html`<${Act}
              label=${text.cancel}
              title=${text.cancelTitle}
              text=${text.cancelText}
              isDanger
              run=${post('cancel')}
              onDone=${reload}
            />`
          }
          ${
            value.status === 'failed' &&
            !value.retried_as &&
            html`<${Act}
              label=${text.retry}
              title=${text.retryTitle}
              text=${text.retryText(numberText(value.credits))}
              run=${post('retry')}
              onDone=${(/** @type {{ readonly task_id: string }} */ { task_id: next }) =>
                go(linkTo(['tasks', next], query))}
            />`
          }
          ${value.workflow_url && html`<a class="button" href=${value.workflow_url} target="_blank" rel="noopener">${text.run}</a>`}
        </div>
        ${
          failed &&
          html`<div class="notice">
            <p><b>${text.failed}</b> <code>${failed['code']}</code></p>
            <p>${[failed['cause'], lastCall && callText(lastCall)].filter(Boolean).join(' · ')}</p>
          </div>`
        }
        <div class="columns story">
          <section aria-labelledby="timeline">
            <h3 id="timeline">${text.timeline}</h3>
            <${Timeline} events=${value.timeline} />
          </section>
          <section aria-labelledby="facts">
            <h3 id="facts">${text.facts}</h3>
            <${Facts} facts=${factsOf(value)} />
            ${
              admin.isOperator &&
              html`<div class="contents">
                <h3>${text.contents}</h3>
                <p class="hint">${text.recorded}</p>
                <${Request} id=${id} />
                ${value.status === 'succeeded' && html`<${Made} id=${id} />`}
              </div>`
            }
          </section>
        </div>
      `
    }
  `
}

/** @param {import('../records.ts').TaskEvent} call */
function callText(call) {
  /** @type {Readonly<Record<string, string>>} */
  const outcomes = words.console.outcomes
  const outcome = outcomes[call['class'] ?? ''] ?? call['class']
  return words.console.task.lastCall(
    [outcome, call['reason'], call['http_status'] && `HTTP ${call['http_status']}`]
      .filter(Boolean)
      .join(', '),
    String(call['channel'] ?? ''),
  )
}

/** @param {TaskStory} story */
function factsOf(story) {
  const { fields } = words.console
  const taskLink = (/** @type {string | undefined} */ id) =>
    id && html`<a class="break" href=${linkTo(['tasks', id])}><code>${id}</code></a>`
  return /** @type {const} */ ([
    [fields.account, html`<a href=${linkTo(['accounts', story.account])}>${story.account}</a>`],
    [fields.key, story.key_id && html`<code>${story.key_id}</code>`],
    [fields.model, story.model],
    [fields.action, [story.action, story.size, story.quality].filter(Boolean).join(' · ')],
    [fields.route, html`<code>${story.route}</code>`],
    [fields.credits, numberText(story.credits)],
    [fields.created_at, html`<${When} at=${story.created_at} />`],
    [fields.deadline_at, html`<${When} at=${story.deadline_at} />`],
    [fields.expires_at, story.expires_at && html`<${When} at=${story.expires_at} />`],
    [
      fields.idempotency_key,
      story.idempotency_key && html`<code class="break">${story.idempotency_key}</code>`,
    ],
    [fields.request_id, story.request_id && html`<code class="break">${story.request_id}</code>`],
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
  const next = async () => {
    const known = at < 0 ? undefined : listed[at + 1]
    if (known !== undefined) return go(linkTo(['tasks', known], query))
    /** @type {import('../../shared/callApi.js').Answer<{ readonly data: readonly Task[] }>} */
    const answer = await admin.read(`tasks${queryOf({ ...query, limit: '20', after: id })}`)
    const more = answer.ok ? answer.value.data.map(({ task_id: taskId }) => taskId) : []
    if (more[0] === undefined) return undefined
    keep('listed', at < 0 ? [id, ...more] : [...listed, ...more])
    return go(linkTo(['tasks', more[0]], query))
  }
  return html`
    <nav class="actions" aria-label=${words.console.pages}>
      <a class="button" href=${linkTo(['tasks'], query)}>${words.console.task.list}</a>
      ${before && html`<a class="button" href=${linkTo(['tasks', before], query)}>${words.console.previous}</a>`}
      <button type="button" onClick=${next}>${words.console.next}</button>
    </nav>
  `
}
