import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
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
export type Receiver = Awaited<ReturnType<typeof startReceiver>>

export async function startReceiver(host = '127.0.0.1') {
  const received: Received[] = []
  /** How the next requests are answered. */
  const answers: { behave: Behaviour } = { behave: 200 }
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {})
    const { method = '', url: path = '', headers } = request
    const body = await text(request)
    received.push({ method, path, headers, body, atMs: Date.now() })
    const { behave } = answers
    if (typeof behave === 'number') response.writeHead(behave).end()
    else behave(request, response, body)
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => {}))
  const port = await portOf(server)
  const of = (path?: string) => received.filter((each) => path === undefined || each.path === path)
  return Object.assign(answers, {
    port,
    url: `http://${host}:${port}`,
    received,
    /** Waits until `count` requests of `path` have arrived, and returns them. */
    waitFor: (count: number, path?: string): Promise<readonly Received[]> =>
      until(`${count} requests of ${path ?? 'any path'}`, () =>
        of(path).length >= count ? of(path) : undefined,
      ),
    /** Ends the requests that are under way. */
    hangUp: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
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
