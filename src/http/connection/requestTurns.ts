import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** The requests of each connection, served one at a time, in the order in which they arrived. */
export type RequestTurns = {
  /** Calls `serve` when every earlier request of the connection has its answer. */
  readonly take: (request: IncomingMessage, response: ServerResponse, serve: () => void) => void
  /**
   * Called when the next bytes of a connection are not valid HTTP. Calls `refuse` when every earlier request
   * has its answer, so that no client takes the error for the answer to another request.
   */
  readonly refuseNext: (socket: Duplex, refuse: () => void) => void
}

type Connection = {
  /** Requests that have arrived and have no complete answer. */
  openRequests: number
  /** The answer to the latest request. */
  latest: ServerResponse
  /** Resolves when that answer has been sent, or when the connection has ended. */
  answered: Promise<void>
}

/** A client that sends more requests than this without waiting for answers is disconnected. */
const openRequestsMax = 256

/**
 * A client may pipeline requests: it sends one without waiting for the answer to the previous one (RFC 9112 section
 * 9.3.2). Node would run all of them at once, and one connection could take every database connection of the process.
 */
export function createRequestTurns(): RequestTurns {
  const connections = new WeakMap<Duplex, Connection>()
  const broken = new WeakSet<Duplex>()

  function take(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const { socket } = request
    const connection = connections.get(socket)
    const openRequests = (connection?.openRequests ?? 0) + 1
    if (openRequests > openRequestsMax) {
      socket.destroy()
      return
    }
    const earlier = connection?.answered
    const answered = new Promise<void>((resolve) => {
      response.once('close', () => {
        current.openRequests -= 1
        resolve()
      })
    })
    const current = Object.assign(connection ?? {}, { openRequests, latest: response, answered })
    connections.set(socket, current)
    if (earlier === undefined || openRequests === 1) return serve()
    void earlier.then(() => (socket.destroyed ? undefined : serve()))
  }

  function refuseNext(socket: Duplex, refuse: () => void): void {
    // The parser reports every further packet of a broken connection.
    if (broken.has(socket)) return
    broken.add(socket)
    const connection = connections.get(socket)
    if (connection === undefined || connection.latest.closed) return refuse()
    const { latest, answered } = connection
    if (latest.req.complete) {
      void answered.then(refuse)
      return
    }
    // The body of the latest request is broken, and the error is the answer to it. The error cannot be sent when that
    // answer has begun, or when an earlier answer is not sent yet: the response then has no socket.
    if (latest.headersSent || latest.socket === null) socket.destroy()
    else refuse()
  }

  return { take, refuseNext }
}
