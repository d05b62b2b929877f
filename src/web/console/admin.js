import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { callApi } from '../shared/callApi.js'
import { repeat } from '../shared/repeat.js'

/** @import { Answer, Failure } from '../shared/callApi.js' */

/**
 * The admin API with the key of this tab.
 * @typedef {{
 *   readonly keyId: string,
 *   readonly isOperator: boolean,
 *   readonly read: <T>(path: string, signal?: AbortSignal) => Promise<Answer<T>>,
 *   readonly change: <T>(method: string, path: string, body?: object) => Promise<Answer<T>>,
 *   readonly file: (path: string, accept?: string) => Promise<Answer<Blob>>,
 * }} Admin
 */

/**
 * Opens the admin API with a key. `onRefused` is told when the key is refused later.
 * @param {string} key
 * @param {(failure: Failure) => void} onRefused
 * @returns {Promise<Answer<Admin>>}
 */
export async function openAdmin(key, onRefused) {
  /** @type {(...call: Parameters<typeof callApi>) => Promise<Answer<any>>} */
  const call = async (...given) => {
    const answer = await callApi(...given)
    if (!answer.ok && answer.failure.status === 401) onRefused(answer.failure)
    return answer
  }
  /** @type {Answer<{ readonly key_id: string, readonly role: 'operator' | 'viewer' }>} */
  const session = await callApi(key, 'admin/v1/session')
  if (!session.ok) return session
  const value = {
    keyId: session.value.key_id,
    isOperator: session.value.role === 'operator',
    read: (/** @type {string} */ path, /** @type {AbortSignal | undefined} */ signal) =>
      call(key, `admin/v1/${path}`, { signal }),
    change: (
      /** @type {string} */ method,
      /** @type {string} */ path,
      /** @type {object | undefined} */ body,
    ) =>
      call(key, `admin/v1/${path}`, {
        method,
        ...(body && {
          headers: { 'Content-Type': 'application/json' },
          body: new Blob([JSON.stringify(body)]),
        }),
      }),
    file: (/** @type {string} */ path, /** @type {string} */ accept = '*/*') =>
      call(key, `admin/v1/${path}`, {
        headers: { Accept: accept },
        read: (response) => response.blob(),
      }),
  }
  return { ...session, value }
}

const AdminContext = createContext(/** @type {Admin | undefined} */ (undefined))

export const AdminProvider = AdminContext.Provider

/** @returns {Admin} */
export function useAdmin() {
  const admin = useContext(AdminContext)
  if (admin === undefined) throw new Error('Bug: not signed in')
  return admin
}

/**
 * What the API answered last at a path. While another path is read, the value before it stays.
 * @template T
 * @typedef {{
 *   readonly value?: T,
 *   readonly failure?: Failure | undefined,
 *   readonly loading: boolean,
 * }} Reading
 */

/**
 * Reads a path, again in every new `round`, and again every so often.
 * @template T
 * @param {string} path
 * @param {{ readonly everyMs?: number | undefined, readonly round?: number }} [when]
 * @returns {Reading<T>}
 */
export function useRead(path, { everyMs, round } = {}) {
  const admin = useAdmin()
  const [state, setState] = useState(
    /** @type {{ readonly path?: string, readonly value?: T, readonly failure?: Failure }} */ ({}),
  )
  const look = async (/** @type {AbortSignal} */ signal) => {
    /** @type {Answer<T>} */
    const answer = await admin.read(path, signal)
    if (signal.aborted) return undefined
    // What another path answered must not look like the answer of this one.
    setState((now) =>
      answer.ok
        ? { path, value: answer.value }
        : { ...(now.path === path && now), path, failure: answer.failure },
    )
    return everyMs
  }
  useEffect(() => repeat(look), [admin, path, everyMs, round])
  const { value, failure } = state
  const loading = state.path !== path
  return { ...(value !== undefined && { value }), failure: loading ? undefined : failure, loading }
}

/** Returns a number, and a function that makes it another one, so that what was changed is read again. */
export function useRound() {
  const [round, setRound] = useState(0)
  return /** @type {const} */ ([round, () => setRound((now) => now + 1)])
}
