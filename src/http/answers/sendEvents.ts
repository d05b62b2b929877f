import type { ServerResponse } from 'node:http'
import type { ApiContext } from '../requestState.ts'

/** One event. `data` must not contain a line break. */
export type StreamEvent = {
  readonly name: string
  readonly id: number
  readonly data: string
}

/** How often a silent stream gets a comment, so that proxies between us and the client keep it open. */
const commentMs = 15_000

/**
 * Limit for the bytes that wait for a client that reads slowly or not at all. A client above it is
 * disconnected. It can come back and name the last event that it has seen.
 */
const unreadBytesMax = 64 * 1024

/**
 * Sends events as they come (WHATWG HTML, "Server-sent events"). Resolves when the events end or the client has
 * left. A HEAD request gets the headers alone.
 */
export async function sendEvents(
  context: ApiContext,
  events: () => AsyncIterable<StreamEvent>,
): Promise<void> {
  const { res } = context
  context.status = 200
  context.set('Content-Type', 'text/event-stream')
  // Without this header nginx would collect the events before it passes them on.
  context.set('X-Accel-Buffering', 'no')
  context.respond = false
  if (context.method === 'HEAD') {
    res.end()
    return
  }
  res.flushHeaders()
  const comments = setInterval(() => write(res, ': \n\n'), commentMs)
  try {
    for await (const { name, id, data } of events()) {
      if (res.destroyed) return
      write(res, `event: ${name}\nid: ${id}\ndata: ${data}\n\n`)
    }
    res.end()
  } catch (error) {
    // The client notices that the stream is cut off, and comes back.
    res.destroy()
    throw error
  } finally {
    clearInterval(comments)
  }
}

function write(res: ServerResponse, text: string): void {
  if (res.destroyed) return
  if (res.writableLength > unreadBytesMax) res.destroy()
  else res.write(text)
}
