import { html } from 'htm/preact'
import { words } from 'words'
import { durationText, nameIn, when } from '../parts/texts.js'

/** @import { EventJson } from '../../../operations/tasks.ts' */

/** What the title of an event says already, or what only a machine reads. */
const untold = new Set([
  'at',
  'event',
  'attempt',
  'channel',
  'class',
  'credits',
  'asked',
  'delivered',
  'held',
  'retry_after_ms',
  'latency_ms',
  'code',
  'status',
])

/**
 * Shows the events of a task with the time since the first one, and the waits between its calls.
 * @param {readonly EventJson[]} events
 */
export function timelineOf(events) {
  const firstMs = Date.parse(events[0]?.at ?? '')
  return html`
    <ol class="timeline">
      ${events.map((event, i) => {
        const wait = waitBefore(events, i)
        return html`
          ${wait && html`<li class="wait" key=${`${i} wait`}><span></span><span>${wait}</span></li>`}
          <li class=${`event ${toneOf(event)}`} key=${i}>
            <span class="offset">+${durationText(Date.parse(event.at) - firstMs)}</span>
            <div>
              <b>${titleOf(event)}</b>
              <p class="soft break">
                ${when(event.at)}
                ${detailsOf(event).map(
                  ([name, value]) => html`<span key=${name}>${name} <code>${value}</code></span>`,
                )}
              </p>
            </div>
          </li>
        `
      })}
    </ol>
  `
}

/**
 * Says how long a task waited between two calls, and for what.
 * @param {readonly EventJson[]} events
 * @param {number} i
 */
function waitBefore(events, i) {
  const event = events[i]
  if (event?.event !== 'attempt_opened') return undefined
  const closed = events.slice(0, i).findLast(({ event: name }) => name === 'attempt_closed')
  if (closed === undefined) return undefined
  const waited = durationText(Date.parse(event.at) - Date.parse(closed.at))
  const asked = closed['retry_after_ms']
  return words.console.task.waited(
    waited,
    asked === undefined ? undefined : durationText(Number(asked)),
  )
}

/** @param {EventJson} event */
function titleOf(event) {
  /** @type {Readonly<Record<string, (detail: EventJson) => string>>} */
  const titles = words.console.events
  const { class: outcome, status } = event
  const named = {
    ...event,
    ...(outcome && { class: nameIn(words.console.outcomes, String(outcome)) }),
    ...(status && { status: nameIn(words.console.states, String(status)) }),
  }
  const title = titles[event.event]?.(named) ?? event.event
  const latency = event['latency_ms']
  return latency === undefined ? title : `${title} · ${durationText(Number(latency))}`
}

/** @param {EventJson} event */
function detailsOf(event) {
  return Object.entries(event).filter(([name]) => !untold.has(name))
}

/** @param {EventJson} event */
function toneOf({ event, class: outcome, status }) {
  const end = event === 'attempt_closed' ? outcome : event === 'webhook' ? status : event
  if (end === 'succeeded' || end === 'settled' || end === 'delivered') return 'good'
  return event === 'attempt_closed' || end === 'failed' ? 'bad' : ''
}
