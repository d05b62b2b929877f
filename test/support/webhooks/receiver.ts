import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { portOf } from '../upstream/testServers.ts'
import { until } from '../timing.ts'

/** One request that arrived. */
export type Received = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly atMs: number
}

/** What a receiver does with a request. A number is the status of an empty answer. */
export type Behaviour =
  | number
  | ((request: IncomingMessage, response: ServerResponse, body: string) => void)

/** A receiver of webhooks on a loopback address that keeps what it gets. */
export type Receiver = {
  readonly port: number
  readonly url: string
  readonly received: Received[]
  /** How the next requests are answered. Default 200. */
  behave: Behaviour
  /** Waits until `count` requests of `path` have arrived, and returns them. */
  readonly waitFor: (count: number, path?: string) => Promise<readonly Received[]>
  /** Ends the requests that are under way. */
  readonly hangUp: () => void
  readonly close: () => Promise<void>
}

export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const body = Buffer.concat(chunks).toString('utf8')
      received.push({ method, path, headers, body, atMs: Date.now() })
      const { behave } = receiver
      if (typeof behave === 'number') response.writeHead(behave).end()
      else behave(request, response, body)
    })
  })
  const port = await portOf(server)
  const of = (path?: string) => received.filter((each) => path === undefined || each.path === path)
  const receiver: Receiver = {
    port,
    url: `http://${host}:${port}`,
    received,
    behave: 200,
    waitFor: (count, path) =>
      until(`${count} requests of ${path ?? 'any path'}`, () =>
        of(path).length >= count ? of(path) : undefined,
      ),
    hangUp: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

type Event = { readonly type: string; readonly timestamp: string; readonly data: unknown }

/** Returns the event in the body of a delivery. */
export function eventOf({ body }: Received): Event {
  const event: Event = JSON.parse(body)
  return event
}

/** Returns the headers of a delivery in the form that verifiers take. */
export function headersOf({ headers }: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
