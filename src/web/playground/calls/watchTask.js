import { apiAddress, readTask } from './api.js'
import { pause } from '../clock.js'

/** @import { TaskRecord } from '../../../domain/tasks/taskRecord.ts' */
/** @import { Failure } from './api.js' */

/**
 * How many event streams are open at once. A browser opens about six connections to one origin over HTTP/1.1, and
 * submits and images need some of them. Further tasks are polled.
 */
const streamsMax = 3
let streams = 0

/** The API sends a comment each 15 seconds. After this much silence the connection counts as lost. */
const silenceMs = 40_000
/** Used when the API does not say how long to wait. */
const pollMs = 3_000
const reconnectMs = 1_000

/**
 * @typedef {{
 *   readonly key: string,
 *   readonly taskId: string,
 *   readonly onRecord: (record: TaskRecord) => void,
 *   readonly onFailure: (failure: Failure) => void,
 * }} Watch
 */

/**
 * Follows a task until it has ended, over the event stream where that is possible and by polling otherwise.
 * Returns a function that stops it. `onFailure` is called when the task cannot be read any more.
 * @param {Watch} watch
 */
export function watchTask(watch) {
  const stop = new AbortController()
  void follow(watch, stop.signal)
  return () => stop.abort()
}

/**
 * @param {TaskRecord} record
 */
export function isLive({ status }) {
  return status === 'queued' || status === 'processing'
}

/**
 * @param {Watch} watch
 * @param {AbortSignal} signal
 */
async function follow(watch, signal) {
  let lastEventId = ''
  let refused = false
  while (!signal.aborted) {
    const stream = !refused && streams < streamsMax
    if (stream) {
      const read = await readStream(watch, lastEventId, signal)
      if (read.ended || signal.aborted) return
      ;({ lastEventId, refused } = read)
      if (!refused) await pause(reconnectMs, signal)
    }
    const answer = await readTask(watch.key, watch.taskId)
    if (signal.aborted) return
    if (answer.ok) {
      watch.onRecord(answer.value)
      if (!isLive(answer.value)) return
    } else if ([400, 401, 403, 404].includes(answer.failure.status)) {
      watch.onFailure(answer.failure)
      return
    }
    if (answer.ok && stream && !refused) continue
    const asked = answer.ok
      ? Number(answer.header('Retry-After'))
      : answer.failure.retryAfterSeconds
    await pause(asked ? asked * 1000 : pollMs, signal)
  }
}

/**
 * Reads the event stream of a task until it ends. `fetch` is used because an `EventSource` cannot send the
 * API key in a header, and a key in an address would end up in logs.
 * @param {Watch} watch
 * @param {string} lastEventId
 * @param {AbortSignal} signal
 */
async function readStream({ key, taskId, onRecord }, lastEventId, signal) {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), silenceMs)
  const read = { ended: false, refused: false, lastEventId }
  streams += 1
  try {
    const response = await fetch(apiAddress(`v1/tasks/${taskId}/events`), {
      headers: {
        Authorization: `Bearer ${key}`,
        Accept: 'text/event-stream',
        ...(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }),
      },
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (response.status !== 200 || response.body === null) return { ...read, refused: true }
    const events = createEventReader()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return read
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), silenceMs)
      for (const event of events.read(value)) {
        /** @type {TaskRecord} */
        const record = JSON.parse(event.data)
        read.lastEventId = event.id
        read.ended = !isLive(record)
        if (!signal.aborted) onRecord(record)
      }
    }
  } catch {
    return read
  } finally {
    clearTimeout(timer)
    streams -= 1
  }
}

/**
 * Returns a reader of the format of event streams (WHATWG HTML, "Server-sent events"). Only what this API
 * sends is understood: one line of data, lines that end in LF.
 */
function createEventReader() {
  let rest = ''
  return {
    /** @param {string} text */
    read: (text) => {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      return blocks.flatMap((block) => {
        const fields = new Map(
          block.split('\n').map((line) => /** @type {const} */ ([line.split(':')[0], line])),
        )
        const [data, id] = ['data', 'id'].map((name) => fields.get(name)?.replace(/^\w+: ?/, ''))
        return data === undefined ? [] : [{ data, id: id ?? '' }]
      })
    },
  }
}
