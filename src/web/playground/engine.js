import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from 'words'
import { pause } from '../shared/pause.js'

const pauseMs = 3_000

/** Says in the head of the page what `npm start` still builds, and how far it is. */
export function Engine() {
  const [text, setText] = useState('')
  useEffect(() => {
    const stop = new AbortController()
    const follow = async () => {
      while (!stop.signal.aborted) {
        const answer = await fetch('playground/engine').catch(() => undefined)
        const said = answer?.ok ? await answer.text() : ''
        setText(said)
        if (said === '') return
        await pause(pauseMs, stop.signal)
      }
    }
    void follow()
    return () => stop.abort()
  }, [])
  return text && html`<p class="engine">${words.playground.engine(text)}</p>`
}
