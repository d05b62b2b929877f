import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { repeat } from '../shared/repeat.js'

const pauseMs = 3_000

/** Says in the head of the page what `npm start` still builds, and how far it is. */
export function Engine() {
  const [text, setText] = useState('')
  const look = async () => {
    const answer = await fetch('playground/engine').catch(() => undefined)
    const said = answer?.ok ? await answer.text() : ''
    setText(said)
    return said === '' ? undefined : pauseMs
  }
  useEffect(() => repeat(look), [])
  return text && html`<p class="engine">${words.playground.engine(text)}</p>`
}
