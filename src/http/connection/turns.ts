import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Calls `serve` when its turn on its connection has come; never, when that is gone before. */
type Turns = (request: IncomingMessage, response: ServerResponse, serve: () => void) => void

/** Answers go out in the order of their requests anyhow: to work ahead takes from other connections. */
const servedAtOnceMax = 4

/** Who asks for so much without reading an answer is no client. */
const waitingMax = 256

type Line = { served: number; readonly waiting: (() => void)[] }

/**
 * Requests that are pipelined on one connection, a few at a time: hundreds of them would take the whole
 * pool of database connections, and everybody else would wait behind.
 */
export function createTurns(): Turns {
  const lines = new WeakMap<Duplex, Line>()

  function goOn(line: Line): void {
    while (line.served < servedAtOnceMax) {
      const next = line.waiting.shift()
      if (next === undefined) return
      line.served += 1
      next()
    }
  }

  return ({ socket }, response, serve) => {
    const line = lines.get(socket) ?? { served: 0, waiting: [] }
    lines.set(socket, line)
    if (line.waiting.length >= waitingMax) {
      socket.destroy()
      return
    }
    line.waiting.push(() => {
      if (socket.destroyed) return
      response.once('close', () => {
        line.served -= 1
        goOn(line)
      })
      serve()
    })
    goOn(line)
  }
}
