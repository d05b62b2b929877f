import { useEffect, useState } from 'preact/hooks'
import { estimateTask } from '../calls/api.js'

/** @import { ImageRequest } from './models.js' */

/**
 * @typedef {{
 *   readonly credits?: number | undefined,
 *   readonly seconds?: number | undefined,
 *   readonly reason?: string | undefined,
 * }} Estimate
 */

/** While somebody goes through the choices, only the one they stay at is asked for. */
const pauseMs = 300

/** @type {Estimate} */
const unknown = {}

/**
 * Returns what the API says of the request in the form: it knows balance, budget and limits besides the prices. Empty
 * until it has answered. The prompt is not sent: it changes nothing, and is nobody's business yet.
 * @param {string} apiKey
 * @param {ImageRequest} request
 * @param {number} images
 * @param {unknown} moved asked again when this changes, because the balance has
 */
export function useEstimate(apiKey, request, images, moved) {
  const [estimate, setEstimate] = useState(unknown)
  const { action } = request
  const input_images = Array.from({ length: images }, () => ({ mime_type: 'image/png' }))
  const asked = { ...request, prompt: '-', ...(action === 'edit' ? { input_images } : {}) }
  const body = action === 'edit' && images === 0 ? '' : JSON.stringify(asked)
  useEffect(() => {
    setEstimate(unknown)
    if (body === '') return undefined
    const left = new AbortController()
    const ask = async () => {
      const answer = await estimateTask(apiKey, new Blob([body]), left.signal)
      if (left.signal.aborted) return
      if (answer.ok) {
        const { credits, expected_seconds: seconds, reason } = answer.value
        setEstimate({ credits, seconds, reason: reason?.message })
      } else if (answer.failure.status === 429) setEstimate({ reason: answer.failure.message })
    }
    const timer = setTimeout(() => void ask(), pauseMs)
    return () => {
      clearTimeout(timer)
      left.abort()
    }
  }, [apiKey, body, moved])
  return estimate
}
