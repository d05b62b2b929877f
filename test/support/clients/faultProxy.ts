import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request as send } from 'node:http'
import { onTestFinished } from 'vitest'
import { portOf } from '../upstream/testServers.ts'
import type { Finished } from '../useFinished.ts'

/** One request that arrived at the proxy. */
export type ProxiedRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** What the proxy does with a request instead of passing it on. */
export type Fault =
  /** Closes the connection: the service does not see the request. */
  | 'refuse'
  /** Lets the service answer, and closes the connection without the answer. */
  | 'lose'
  /** Passes the beginning of the answer on, and closes the connection in its middle. */
  | 'truncate'
  /** Passes the first bytes of the answer on as they came, and closes the connection then. */
  | 'break'
  /** Closes the connection when no byte of the answer has come after a time. */
  | { readonly cutAfterMs: number }
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }

/** Which fault a request meets. `number` counts the requests with the same method from 1. */
export type Faults = (request: ProxiedRequest, number: number) => Fault | undefined

/** The first so many POSTs meet a fault. */
export const firstPosts =
  (...faults: readonly Fault[]): Faults =>
  ({ method }, number) =>
    method === 'POST' ? faults[number - 1] : undefined

/** Starts an HTTP proxy in front of a service, until the test has finished. Concurrent tests give their own hook. */
export async function startFaultProxy(
  serviceUrl: string,
  faults: Faults = () => undefined,
  finished: Finished = onTestFinished,
) {
  const seen: ProxiedRequest[] = []
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    const proxied = { method, path, headers }
    seen.push(proxied)
    const fault = faults(proxied, seen.filter((each) => each.method === method).length)
    request.on('error', () => {})
    response.on('error', () => {})
    if (fault === 'refuse') response.destroy()
    else if (typeof fault === 'object' && 'status' in fault) {
      request.resume()
      response.writeHead(fault.status, fault.headers).end(fault.body)
    } else passOn(serviceUrl, request, response, fault)
  })
  const port = await portOf(server)
  finished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    /** All requests so far, oldest first. */
    seen,
    /** The requests to a path so far. */
    of: (method: string, path: string) =>
      seen.filter((each) => each.method === method && each.path.startsWith(path)),
  }
}

function passOn(
  serviceUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  fault: 'lose' | 'truncate' | 'break' | { readonly cutAfterMs: number } | undefined,
): void {
  const { method = '', url: path = '', headers } = request
  const onward = send(serviceUrl + path, { method, headers }, (answer) => {
    clearTimeout(timer)
    answer.on('error', () => response.destroy())
    if (fault === 'lose') answer.resume().on('end', () => response.destroy())
    else {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      if (fault !== 'truncate' && fault !== 'break') answer.pipe(response)
      else
        answer.once('data', (bytes: Buffer) => {
          const share = fault === 'break' ? 1 : 1 / 2
          response.write(bytes.subarray(0, bytes.length * share), () => response.destroy())
        })
    }
  })
  const timer =
    typeof fault === 'object' ? setTimeout(() => response.destroy(), fault.cutAfterMs) : undefined
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}
