/** One of the server-sent events of a body (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export type ServerSentEvent = { readonly name: string; readonly data: Buffer }

/** Returns whether a body begins as server-sent events do. JSON, pages and images begin otherwise. */
export function isEventStream(body: Buffer): boolean {
  return /^(?:\xef\xbb\xbf)?\s*(?:event|data|id|retry)?:/.test(body.toString('latin1', 0, 64))
}

/** Limit for the lines that are read of one body. A vendor sends some dozens. */
const linesMax = 100_000
const fieldPattern = /^(?:\xef\xbb\xbf)?\s*(event|data): ?/

/** Returns the events that have data, also the last one when its end is missing. Copies only data of several lines. */
export function eventsOf(body: Buffer): readonly ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  let name = ''
  let data: Buffer[] = []
  const endEvent = (): void => {
    const [first, ...others] = data
    if (first !== undefined) {
      events.push({ name, data: others.length === 0 ? first : Buffer.concat(data) })
    }
    name = ''
    data = []
  }
  let at = 0
  for (let lines = 0; at < body.length && lines < linesMax; lines += 1) {
    const feed = body.indexOf(0x0a, at)
    // With its line feed, so that the lines of one event can be joined.
    const line = body.subarray(at, feed === -1 ? body.length : feed + 1)
    const [start = '', field] = fieldPattern.exec(line.toString('latin1', 0, 64)) ?? []
    if (field === 'data') data.push(line.subarray(start.length))
    else if (field === 'event') name = line.toString('latin1', start.length, 128).trim()
    else if (line.length <= 2 && line.toString('latin1').trim() === '') endEvent()
    at += line.length
  }
  endEvent()
  return events
}
