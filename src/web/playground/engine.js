import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { repeat } from '../shared/repeat.js'

const pauseMs = 3_000

/** Where to ask. Only `npm start` builds something, so elsewhere the page has no such address. */
const path = document.querySelector('meta[name="engine"]')?.getAttribute('content')

/** Says in the head of the page what `npm start` still builds, and how far it is. */
export function Engine() {
  const [text, setText] = useState('')
  const look = async () => {
    if (!path) return undefined
    const answer = await fetch(path).catch(() => undefined)
    const said = answer?.ok ? await answer.text() : ''
    setText(said)
    return said === '' ? undefined : pauseMs
  }
  useEffect(() => repeat(look), [])
  return text && html`<p class="engine">${words.playground.engine(text)}</p>`
}
