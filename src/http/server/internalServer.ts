import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import manifest from '../../../package.json' with { type: 'json' }
import { closeServer, listen } from './server.ts'
import { foreignRequest } from './foreignRequest.ts'

/**
 * Whether a process should get requests or tasks. `parts` has one word for the state of each part of the
 * process, and the word contains nothing secret.
 */
export type Readiness = {
  readonly ready: boolean
  readonly parts: Readonly<Record<string, string>>
}

type InternalServerOptions = {
  readonly host: string
  readonly port: number
  readonly metrics: { readonly expose: () => Promise<string>; readonly contentType: string }
  /** Returns what `/readyz` answers: 200 when `ready` is true, otherwise 503, with the state of each part. */
  readonly readiness: () => Promise<Readiness>
}

type InternalServer = { readonly port: number; readonly close: () => Promise<void> }

const requestTimeoutMs = 10_000

/**
 * Serves `/metrics`, `/healthz` and `/readyz` of one process on a separate port for its operators. On a loopback
 * address it answers 403 to a request that a web page of another host sent (`foreignRequest.ts`). Rejects with the
 * system's error when the server cannot listen on that port.
 */
export async function createInternalServer(
  options: InternalServerOptions,
): Promise<InternalServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch(() => send(response, 500, 'text/plain', 'failed\n'))
  })
  server.requestTimeout = requestTimeoutMs
  server.headersTimeout = requestTimeoutMs
  const port = await listen(server, options)
  return {
    port,
    close: () => closeServer(server, 0),
  }
}

async function answer(
  { host, metrics, readiness }: InternalServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const refusal = foreignRequest(request, { listenHost: host })
  if (refusal !== undefined) return send(response, 403, 'text/plain', `${refusal}\n`)
  switch (request.url?.split('?', 1)[0] ?? '') {
    case '/healthz':
      return send(
        response,
        200,
        'application/json',
        JSON.stringify({ status: 'ok', version: manifest.version }),
      )
    case '/readyz': {
      const { ready, parts } = await readiness()
      const body = JSON.stringify({ status: ready ? 'ready' : 'not ready', parts })
      return send(response, ready ? 200 : 503, 'application/json', body)
    }
    case '/metrics':
      return send(response, 200, metrics.contentType, await metrics.expose())
    default:
      return send(response, 404, 'text/plain', 'not found\n')
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
}
