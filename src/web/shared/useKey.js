import { useEffect, useState } from 'preact/hooks'
import { forgetAll, keep, recall } from './session.js'

/** @import { Answer, Failure } from './callApi.js' */

/**
 * What the key of this tab opens. A reload opens it again.
 * @template Opened
 * @param {string} name under which the tab keeps the key
 * @param {(key: string, signOut: (why: Failure) => void) => Promise<Answer<Opened>>} open
 */
export function useKey(name, open) {
  const [kept] = useState(recall(name, ''))
  const [opened, setOpened] = useState(/** @type {Opened | undefined} */ (undefined))
  const [failure, setFailure] = useState(/** @type {Failure | undefined} */ (undefined))
  const [opening, setOpening] = useState(kept !== '')

  /** Forgets the key, and everything else. `why` is shown. */
  function signOut(/** @type {Failure | undefined} */ why) {
    forgetAll()
    setOpened(undefined)
    setFailure(why)
  }

  async function onKey(/** @type {string} */ key) {
    setOpening(true)
    setFailure(undefined)
    const answer = await open(key, signOut)
    setOpening(false)
    if (answer.ok) {
      keep(name, key)
      setOpened(answer.value)
      return
    }
    // Only a key that the API refused is forgotten. When the API is away, a reload tries the kept key again.
    if (answer.failure.status === 401) keep(name, undefined)
    setFailure(answer.failure)
  }
  useEffect(() => {
    if (kept !== '') void onKey(kept)
  }, [])

  return {
    opened,
    /** What `SignIn` needs. */
    signIn: { kept, opening, failure, onKey },
    signOut,
  }
}
