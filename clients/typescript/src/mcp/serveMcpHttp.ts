import { once } from 'node:events'
import { createServer } from 'node:http'
import type { McpServer } from '@modelcontextprotocol/server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node'

const path = '/mcp'
/** Source images of 64 MiB as Base64, and the rest of a call. */
const bodyBytesMax = 96 * 1_048_576

/**
 * Serves MCP over HTTP on 127.0.0.1, and returns the address. Each request brings the API key of its caller. A page that
 * rebinds a name to this address has another Host and another Origin, and is refused.
 */
export async function serveMcpHttp(
  port: number,
  serverFor: (apiKey: string) => McpServer,
): Promise<string> {
  const handler = createMcpHandler(
    ({ requestInfo }) => serverFor(bearerOf(requestInfo?.headers.get('authorization'))),
    { maxRequestBodySize: bodyBytesMax, onerror: ({ message }) => console.error(message) },
  )
  const serve = toNodeHandler(handler)
  const isOurHost = localhostHostValidation()
  const isOurOrigin = localhostOriginValidation()
  const server = createServer((request, response) => {
    if (!isOurHost(request, response) || !isOurOrigin(request, response)) return
    if (request.url?.split('?')[0] !== path) response.writeHead(404).end()
    else if (bearerOf(request.headers.authorization) === '') {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      // Its types do not know that fields of Node's requests may be undefined.
    } else void Reflect.apply(serve, undefined, [request, response])
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: listening }: { port?: number } = Object(server.address())
  return `http://127.0.0.1:${listening}${path}`
}

function bearerOf(authorization: string | null | undefined): string {
  return /^Bearer ([!-~]+)$/i.exec(authorization ?? '')?.[1] ?? ''
}
