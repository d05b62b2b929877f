import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { keep, recall } from '../shared/session.js'
import { exampleBody } from './apiDocument.js'

/** @import { Operation } from './apiDocument.js' */

/** A synchronous call takes up to five minutes. */
const timeoutMs = 310_000
/** An image as base64 would stop the page for seconds. */
const shownCharsMax = 20_000

/**
 * Sends a request with the key of this tab, the same as the playground's, and shows the answer.
 * @param {{ readonly operation: Operation }} props
 */
export function SendForm({ operation }) {
  const { id, parameters, body, needsKey } = operation
  const [sending, setSending] = useState(false)
  const [answer, setAnswer] = useState('')

  const submit = async (/** @type {{ currentTarget: HTMLFormElement } & Event} */ event) => {
    event.preventDefault()
    if (sending) return
    const form = new FormData(event.currentTarget)
    if (needsKey) keep('key', textIn(form, 'key'))
    setSending(true)
    setAnswer(await send(operation, form).catch(String))
    setSending(false)
  }
  const isForm = body !== undefined && body.type !== 'application/json'
  return html`
    <details class="send">
      <summary>Send this request</summary>
      <form onSubmit=${submit} aria-label="Send ${id}">
        ${
          needsKey &&
          html`<label>
            API key
            <input
              name="key"
              type="password"
              autocomplete="off"
              required
              defaultValue=${recall('key', '')}
            />
          </label>`
        }
        ${parameters.map(
          ({ name, required }) => html`
            <label key=${name}>
              ${name}
              <input
                name="parameter ${name}"
                required=${required}
                autocomplete="off"
                spellcheck=${false}
              />
            </label>
          `,
        )}
        ${
          body &&
          html`<label>
            ${isForm ? 'Fields' : 'Body'}
            <textarea
              name="body"
              rows="8"
              spellcheck=${false}
              defaultValue=${JSON.stringify(exampleBody(operation), null, 2)}
            ></textarea>
          </label>`
        }
        ${isForm && html`<label>image <input name="image" type="file" required accept="image/*" /></label>`}
        <button class="primary" type="submit" aria-disabled=${sending}>
          ${sending ? 'Waiting for the answer…' : 'Send'}
        </button>
      </form>
      <div aria-live="polite">
        ${answer && html`<pre tabindex="0" role="region" aria-label="Answer">${answer}</pre>`}
      </div>
    </details>
  `
}

/**
 * Sends the request that a form describes. Rejects when there is no answer, or when the body is not JSON.
 * @param {Operation} operation
 * @param {FormData} form
 */
async function send({ method, path, parameters, body, needsKey }, form) {
  const given = parameters
    .map(({ in: place, name }) => ({ place, name, value: textIn(form, `parameter ${name}`) }))
    .filter(({ value }) => value !== '')
  const inPlace = (/** @type {string} */ place) =>
    given.filter((each) => each.place === place).map(({ name, value }) => [name, value])
  const target = inPlace('path').reduce(
    (text, [name = '', value = '']) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path.slice(1),
  )
  const query = new URLSearchParams(inPlace('query')).toString()
  const isJson = body?.type === 'application/json'
  const response = await fetch(
    new URL(query === '' ? target : `${target}?${query}`, document.baseURI),
    {
      method,
      headers: [
        ...(needsKey ? [['Authorization', `Bearer ${textIn(form, 'key')}`]] : []),
        ...(isJson ? [['Content-Type', body.type]] : []),
        ...inPlace('header'),
      ].map(([name = '', value = '']) => /** @type {[string, string]} */ ([name, value])),
      body: body === undefined ? null : isJson ? textIn(form, 'body') : multipart(form),
      signal: AbortSignal.timeout(timeoutMs),
    },
  )
  const head = [
    `HTTP ${response.status}`,
    ...[...response.headers].map(([name, value]) => `${name}: ${value}`),
  ].join('\n')
  const text = indented(await response.text())
  const rest =
    text.length > shownCharsMax ? `\n… ${text.length - shownCharsMax} more characters` : ''
  return `${head}\n\n${text.slice(0, shownCharsMax)}${rest}`
}

/** @param {FormData} form */
function multipart(form) {
  const sent = new FormData()
  /** @type {Readonly<Record<string, unknown>>} */
  const fields = JSON.parse(textIn(form, 'body'))
  for (const [name, value] of Object.entries(fields)) {
    sent.set(name, String(value))
  }
  const image = form.get('image')
  if (image !== null) sent.set('image', image)
  return sent
}

/**
 * Returns the text of a field, empty when the form does not have it.
 * @param {FormData} form
 * @param {string} name
 */
function textIn(form, name) {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}

/**
 * Returns JSON with a line for each field, and other text as it is.
 * @param {string} text
 */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
