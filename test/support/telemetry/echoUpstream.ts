import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { defined } from '../../../src/domain/defined.ts'
import { portOf } from '../upstream/testServers.ts'

/**
 * An upstream of both families that repeats the whole request, secrets included: in an error answer when the
 * prompt contains `ECHO-<status>`, in a refusal of the model when it contains `ECHO-refusal`. It passes every
 * other request on to the simulator that `forwardTo` names.
 */
export async function startEchoUpstream() {
  let simulatorUrl = ''
  const server = createServer((request, response) => {
    answer(request, response, simulatorUrl).catch(() => response.destroy())
  })
  const port = await portOf(server)
  return {
    url: `http://127.0.0.1:${port}`,
    forwardTo: (url: string) => {
      simulatorUrl = url
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  simulatorUrl: string,
): Promise<void> {
  const bytes = await buffer(request)
  const body = bytes.toString('utf8')
  const [, asked] = /ECHO-(\w+)/.exec(body) ?? []
  if (asked === undefined) return forward(request, bytes, response, simulatorUrl)
  const echo = `You said ${body} with ${JSON.stringify(request.headers)} at ${request.url}`
  const familyA = request.url?.startsWith('/v1beta') === true
  const send = (status: number, content: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-echo': 'all of it' })
    response.end(typeof content === 'string' ? content : JSON.stringify(content))
  }
  // A model sees the prompt but not the headers, so its refusal repeats only the body.
  if (asked === 'refusal') return send(200, familyA ? refusalOfA(body) : { data: [], echo })
  if (asked === '200') return send(200, `<html>${echo}</html>`)
  const status = Number(asked)
  const error = familyA
    ? { code: status, status: echo, message: echo, details: [{ reason: echo }] }
    : { code: echo, type: echo, param: echo, message: echo }
  return send(status, { error })
}

async function forward(
  { url, headers }: IncomingMessage,
  body: Buffer<ArrayBuffer>,
  response: ServerResponse,
  simulatorUrl: string,
): Promise<void> {
  const { authorization, 'content-type': type, 'x-goog-api-key': key } = headers
  const sent = { authorization, 'content-type': type, 'x-goog-api-key': key?.toString() }
  const init = { method: 'POST', headers: defined(sent), body }
  const answered = await fetch(`${simulatorUrl}${url}`, init)
  const kept = ['content-type', 'retry-after'].flatMap((name) => {
    const value = answered.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  response.writeHead(answered.status, Object.fromEntries(kept))
  response.end(Buffer.from(await answered.arrayBuffer()))
}

function refusalOfA(text: string): unknown {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'IMAGE_SAFETY' }],
    promptFeedback: { blockReasonMessage: text },
  }
}
