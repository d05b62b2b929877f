import { html } from 'htm/preact'
import { words } from 'words'
import { useAdmin, useRead } from '../admin.js'
import { Act } from '../parts/act.js'
import { Told } from '../parts/listing.js'
import { Table } from '../parts/table.js'
import { numberText, State, When } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Channel } from '../records.ts' */

const everyMs = 3_000

/** The channels and what they do now. */
export function ChannelsView() {
  const admin = useAdmin()
  /** @type {Reading<{ readonly data: readonly Channel[] }>} */
  const { value, failure, reload } = useRead('channels', everyMs)
  const { fields, views, channel: text } = words.console
  const acts = (/** @type {Channel} */ { name, paused_at: paused }) => {
    const path = `channels/${encodeURIComponent(name)}`
    return html`<span class="actions">
      ${
        paused
          ? html`<${Act}
              key="resume"
              label=${text.resume}
              title=${text.resumeTitle(name)}
              text=${text.resumeText}
              run=${() => admin.change('POST', `${path}/resume`)}
              onDone=${reload}
            />`
          : html`<${Act}
              key="pause"
              label=${text.pause}
              title=${text.pauseTitle(name)}
              text=${text.pauseText}
              isDanger
              fields=${[{ name: 'reason', label: text.reason }]}
              run=${(/** @type {Readonly<Record<string, string>>} */ { reason }) =>
                admin.change('POST', `${path}/pause`, reason ? { reason } : {})}
              onDone=${reload}
            />`
      }
      <${Act}
        label=${text.check}
        title=${text.checkTitle(name)}
        text=${text.checkText}
        run=${() => admin.change('POST', `${path}/check`)}
        done=${(/** @type {object} */ result) => html`<pre class="break">${JSON.stringify(result, undefined, 2)}</pre>`}
      />
    </span>`
  }
  return html`
    <h2>${views.channels}</h2>
    <${Told} failure=${failure} />
    ${
      value &&
      html`<${Table}
        label=${views.channels}
        rows=${value.data}
        rowKey=${(/** @type {Channel} */ { name }) => name}
        columns=${[
          {
            title: fields.channel,
            cell: (/** @type {Channel} */ { name }) => html`<b>${name}</b>`,
          },
          { title: fields.status, cell: stateOf },
          {
            title: text.inFlight,
            isNumber: true,
            cell: (/** @type {Channel} */ channel) => numberText(channel.in_flight),
          },
          { title: '', cell: acts },
        ]}
      />`
    }
  `
}

/** @param {Channel} channel */
function stateOf({ paused_at: paused, pause_reason: reason, cooldowns }) {
  if (paused) {
    return html`<${State} is="paused" />
      <span class="soft">${reason} <${When} at=${paused} /></span>`
  }
  if (cooldowns.length === 0) return html`<${State} is="open" />`
  return html`
    <${State} is="cooldown" />
    ${cooldowns.map(
      ({ model, until }) =>
        html`<div class="soft" key=${model}>
          ${model} ${words.console.until} <${When} at=${until} />
        </div>`,
    )}
  `
}
