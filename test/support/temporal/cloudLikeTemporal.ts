import { once } from 'node:events'
import type { ClientHttp2Session, ServerHttp2Stream } from 'node:http2'
import { connect, constants, createServer } from 'node:http2'
import { onTestFinished } from 'vitest'

/** What Temporal Cloud lets no client do, whatever its key. */
const refused =
  /^\/temporal\.api\.(operatorservice\.|workflowservice\.v1\.WorkflowService\/(Register|Update)Namespace$)/

const permissionDenied = { 'grpc-status': '7', 'grpc-message': 'Request unauthorized.' }

/** Returns the address of a way to a real Temporal that refuses what Temporal Cloud refuses. It ends with the test. */
export async function openCloudLikeTemporal(address: string): Promise<string> {
  const upstream = connect(`http://${address}`)
  const server = createServer()
  server.on('stream', (stream, headers) => {
    if (refused.test(String(headers[constants.HTTP2_HEADER_PATH]))) {
      const head = { ':status': 200, 'content-type': 'application/grpc', ...permissionDenied }
      stream.respond(head, { endStream: true })
    } else forward(stream, headers, upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    upstream.destroy()
    server.close()
  })
  return `127.0.0.1:${Object(server.address()).port}`
}

function forward(
  stream: ServerHttp2Stream,
  headers: Parameters<ClientHttp2Session['request']>[0],
  upstream: ClientHttp2Session,
): void {
  const request = upstream.request(headers)
  stream.pipe(request)
  request.on('response', (head, flags) => {
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    stream.respond(head, endStream ? { endStream } : { waitForTrailers: true })
    if (endStream) return
    let trailers = {}
    request.on('trailers', (given) => (trailers = given))
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    request.pipe(stream)
  })
  for (const each of [stream, request]) each.on('error', () => {})
}
