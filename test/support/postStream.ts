import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { collect } from './byteStreams.ts'

export type Posted = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * Sends a body piece by piece, so that a large one is never whole in the sender, and reads the answer
 * even when it comes before the body's end. Without a `content-length` the body goes in chunks.
 */
export async function postStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  content: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
): Promise<Posted> {
  const { promise, resolve, reject } = Promise.withResolvers<Posted>()
  const sent = request(url, { method: 'POST', headers, agent: false })
  sent.on('response', (answer) => {
    readAnswer(answer)
      .then(resolve, reject)
      .finally(() => sent.destroy())
  })
  // A refusal may close the way while the body is still on it: only without an answer is that an error.
  sent.on('close', () => reject(new Error('closed without an answer')))
  await pipeline(Readable.from(content), sent).catch(() => undefined)
  return promise
}

async function readAnswer(answer: IncomingMessage): Promise<Posted> {
  const body = await collect(answer)
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: body.toString() }
}
