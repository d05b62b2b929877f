import { html } from 'htm/preact'
import { words } from 'words'
import { linkTo } from '../address.js'
import { useRead } from '../admin.js'
import { Told } from '../parts/listing.js'
import { Table } from '../parts/table.js'
import { numberText, sinceText, State, When } from '../parts/texts.js'

/** @import { Reading } from '../admin.js' */
/** @import { Queue } from '../records.ts' */

/** @typedef {Queue['data'][number]} Waiting */
/** @typedef {Queue['accounts'][number]} AccountLine */
/** @typedef {Queue['channels'][number]} ChannelLine */

const everyMs = 2_000

/** Who waits, since when, and for what. */
export function QueueView() {
  /** @type {Reading<Queue>} */
  const { value, failure } = useRead('queue', everyMs)
  const { fields, views, queue: text } = words.console
  const account = (/** @type {{ readonly account: string }} */ { account: name }) =>
    html`<a href=${linkTo(['accounts', name])}>${name}</a>`
  return html`
    <h2>${views.queue}</h2>
    <${Told} failure=${failure} />
    ${
      value &&
      html`
        <div class="columns">
          <section>
            <h3>${text.accounts}</h3>
            <${Table}
              label=${text.accounts}
              rows=${value.accounts}
              rowKey=${(/** @type {AccountLine} */ line) => line.account}
              columns=${[
                { title: fields.account, cell: account },
                {
                  title: text.waiting,
                  isNumber: true,
                  cell: (/** @type {AccountLine} */ line) => numberText(line.waiting),
                },
                {
                  title: text.calling,
                  isNumber: true,
                  cell: (/** @type {AccountLine} */ line) => numberText(line.calling),
                },
                {
                  title: text.oldest,
                  cell: (/** @type {AccountLine} */ line) => sinceText(line.oldest_created_at),
                },
              ]}
            />
          </section>
          <section>
            <h3>${text.channels}</h3>
            <${Table}
              label=${text.channels}
              rows=${value.channels}
              rowKey=${(/** @type {ChannelLine} */ line) => line.channel}
              columns=${[
                {
                  title: fields.channel,
                  cell: (/** @type {ChannelLine} */ line) =>
                    html`<a href=${linkTo(['channels'])}>${line.channel}</a>`,
                },
                {
                  title: text.calling,
                  isNumber: true,
                  cell: (/** @type {ChannelLine} */ line) => numberText(line.in_flight),
                },
                {
                  title: fields.status,
                  cell: (/** @type {ChannelLine} */ line) =>
                    html`<${State}
                      is=${line.paused ? 'paused' : line.cooldown_until ? 'cooldown' : 'open'}
                    />`,
                },
                {
                  title: text.until,
                  cell: (/** @type {ChannelLine} */ line) =>
                    html`<${When} at=${line.cooldown_until} />`,
                },
              ]}
            />
          </section>
        </div>
        <section>
          <h3>${text.tasks}</h3>
          <${Table}
            label=${text.tasks}
            rows=${value.data}
            rowKey=${(/** @type {Waiting} */ task) => task.task_id}
            columns=${[
              {
                title: fields.task,
                cell: (/** @type {Waiting} */ { task_id: id }) =>
                  html`<a href=${linkTo(['tasks', id])}><code>${id}</code></a>`,
              },
              { title: fields.account, cell: account },
              { title: fields.model, cell: (/** @type {Waiting} */ { model }) => model },
              {
                title: fields.status,
                cell: (/** @type {Waiting} */ { status }) => html`<${State} is=${status} />`,
              },
              {
                title: text.waits,
                cell: (/** @type {Waiting} */ task) => sinceText(task.created_at),
              },
              {
                title: text.attempts,
                isNumber: true,
                cell: (/** @type {Waiting} */ task) => task.attempts,
              },
              { title: text.waitsFor, cell: (/** @type {Waiting} */ task) => task.waiting_for },
            ]}
          />
        </section>
      `
    }
  `
}
