import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { redPixelPng } from '../images.ts'
import { portOf } from '../upstream/testServers.ts'

const usage = {
  input_tokens: 9,
  output_tokens: 9,
  total_tokens: 18,
  input_tokens_details: { text_tokens: 9, image_tokens: 0 },
  output_tokens_details: { text_tokens: 0, image_tokens: 9 },
}

/**
 * An upstream of both families that repeats the whole request, secrets included: in an error answer when the
 * prompt contains `ECHO-<status>`, in a refusal of the model when it contains `ECHO-refusal`. Otherwise it
 * returns an image.
 */
export async function startEchoUpstream() {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const port = await portOf(server)
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await buffer(request)).toString('utf8')
  const echo = `You said ${body} with ${JSON.stringify(request.headers)} at ${request.url}`
  const familyA = request.url?.startsWith('/v1beta') === true
  const [, asked] = /ECHO-(\w+)/.exec(body) ?? []
  const send = (status: number, content: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-echo': 'all of it' })
    response.end(typeof content === 'string' ? content : JSON.stringify(content))
  }
  if (asked === undefined) return send(200, familyA ? imageOfA() : imageOfB())
  // A model sees the prompt but not the headers, so its refusal repeats only the body.
  if (asked === 'refusal') return send(200, familyA ? refusalOfA(body) : { data: [], echo })
  if (asked === '200') return send(200, `<html>${echo}</html>`)
  const status = Number(asked)
  const error = familyA
    ? { code: status, status: echo, message: echo, details: [{ reason: echo }] }
    : { code: echo, type: echo, param: echo, message: echo }
  return send(status, { error })
}

function imageOfA(): unknown {
  const data = redPixelPng.toString('base64')
  const parts = [{ inlineData: { mimeType: 'image/png', data } }]
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
}

function imageOfB(): unknown {
  return { created: 1, data: [{ b64_json: redPixelPng.toString('base64') }], usage }
}

function refusalOfA(text: string): unknown {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'IMAGE_SAFETY' }],
    promptFeedback: { blockReasonMessage: text },
  }
}
