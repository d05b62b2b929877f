import { html } from 'htm/preact'
import { words } from 'words'
import { useAdmin, useRead, useRound } from '../admin.js'
import { act } from '../parts/act.js'
import { facts, told } from '../parts/notices.js'
import { table } from '../parts/table.js'
import { code, durationText, numberText, state, when } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { ChannelCheckJson } from '../../../operations/channels.ts' */
/** @import { ChannelJson } from '../../../store/channels/channelAdmin.ts' */

/** The channels and what they do now. */
export function ChannelsView() {
  const admin = useAdmin()
  const [round, again] = useRound()
  /** @type {Reading<{ readonly data: readonly ChannelJson[], readonly has_more: boolean }>} */
  const { value, failure } = useRead('channels?limit=100', { everyMs: 3_000, round })
  const { fields, views, channel: text } = words.console
  const acts = (/** @type {ChannelJson} */ { name, paused_at: paused, cooldowns }) => {
    const path = `channels/${encodeURIComponent(name)}`
    const pause = () =>
      act({
        label: text.pause,
        title: text.pauseTitle(name),
        text: text.pauseText,
        fields: [{ name: 'reason', label: text.reason }],
        run: ({ reason }) => admin.change('POST', `${path}/pause`, reason ? { reason } : {}),
        onDone: again,
      })
    const resume = () =>
      act({
        label: text.resume,
        title: text.resumeTitle(name),
        text: text.resumeText,
        run: () => admin.change('POST', `${path}/resume`),
        onDone: again,
      })
    return html`<span class="actions">
      ${!paused && pause()} ${(paused || cooldowns.length > 0) && resume()}
      ${act({
        label: text.check,
        title: text.checkTitle(name),
        text: text.checkText,
        run: () => admin.change('POST', `${path}/check`),
        done: checkedOf,
      })}
    </span>`
  }
  return html`
    <h2>${views.channels}</h2>
    ${told(failure)}
    ${
      value &&
      table({
        label: views.channels,
        rows: value.data,
        idOf: ({ name }) => name,
        columns: [
          [fields.channel, ({ name }) => html`<b>${name}</b>`],
          [fields.status, stateOf],
          [text.declined, declinedOf],
          [text.inFlight, (channel) => numberText(channel.in_flight), 'number'],
          ['', acts],
        ],
      })
    }
    ${value?.has_more && html`<p class="hint">${words.console.more}</p>`}
  `
}

/** @param {ChannelCheckJson} check */
function checkedOf(check) {
  const { fields, channel: text } = words.console
  const { result, url, header, http_status: status, latency_ms: latencyMs, reason } = check
  return facts([
    [fields.outcome, text.results[result]],
    [fields.url, code(url)],
    [text.header, code(header)],
    [text.answer, status && `HTTP ${status}`],
    [text.latency, latencyMs === null ? undefined : durationText(latencyMs)],
    [text.cause, reason && code(reason)],
  ])
}

/** @param {ChannelJson} channel */
function declinedOf({ declined }) {
  return declined
    .slice(0, 5)
    .map(
      ({ http_status: status, code, calls }) => html`
        <div key=${`${status} ${code}`}>
          ${numberText(calls)} <span class="soft">${status} ${code}</span>
        </div>
      `,
    )
}

/** @param {ChannelJson} channel */
function stateOf({ paused_at: paused, pause_reason: reason, cooldowns }) {
  if (paused) {
    return html`
      <div>${state('paused')}</div>
      <div class="soft">${reason} (${when(paused)})</div>
    `
  }
  if (cooldowns.length === 0) return state('open')
  return html`
    <div>${state('cooldown')}</div>
    ${cooldowns.map(
      ({ model, until }) =>
        html`<div class="soft" key=${model}>${model} ${words.console.until} ${when(until)}</div>`,
    )}
  `
}
