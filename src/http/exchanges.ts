import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** What each connection is busy with, so that a broken request is refused where its answer belongs. */
export type Exchanges = {
  readonly begin: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * What follows on the connection cannot be parsed: calls `refuse` once every answer before it has been
   * sent. Destroys the connection when the broken request is being answered already.
   */
  readonly refuseInTurn: (socket: Duplex, refuse: () => void) => void
}

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The answer before this one on the same connection. */
  readonly before?: ServerResponse
}

export function createExchanges(): Exchanges {
  const latest = new WeakMap<Duplex, Exchange>()
  const broken = new WeakSet<Duplex>()

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const before = latest.get(request.socket)?.response
    latest.set(request.socket, { request, response, ...(before === undefined ? {} : { before }) })
  }

  function refuseInTurn(socket: Duplex, refuse: () => void): void {
    // The parser says so again with every further packet.
    if (broken.has(socket)) return
    broken.add(socket)
    const exchange = latest.get(socket)
    if (exchange === undefined) return refuse()
    const { request, response, before } = exchange
    if (!request.complete) {
      // It is the body of the latest request that is broken: its answer may be ours to give.
      const isNext = before === undefined || before.closed
      if (isNext && !response.headersSent) refuse()
      else socket.destroy()
    } else if (response.closed) refuse()
    else response.once('close', refuse)
  }

  return { begin, refuseInTurn }
}
