import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { SimulatorCall } from './calls.ts'
import type { Operation } from './endpoints.ts'
import { readOrderA } from './familyA.ts'
import { readEdit, readGeneration } from './familyB.ts'
import type { OrderRead } from './order.ts'
import { refuse } from './order.ts'

/** Reads the whole body, writes what it contains into the log entry, and checks it as the vendor does. */
export async function readOrder(
  operation: Operation,
  request: IncomingMessage,
  call: SimulatorCall,
): Promise<OrderRead> {
  if (operation.endpoint.family === 'A') call.model = operation.target
  const bytes = await readBody(request, call)
  if (bytes === undefined) return refuse(413, 'Request payload size exceeds the limit.')
  const read = await checkBody(operation, bytes, request.headers['content-type'] ?? '', call)
  if (!read.ok) return read
  const { action, model, prompt, sources } = read.value
  const images = sources.map(({ content: _content, ...image }) => image)
  Object.assign(call, { action, model, prompt, images })
  return read
}

/** Limit for the bytes of a body. More than enough for 64 MiB of images as base64. */
const bodyBytesMax = 256 * 1024 * 1024

/**
 * Returns the body, or `undefined` when it is too large. Reads even a large body to its end, because only
 * then does the client read the answer.
 */
async function readBody(
  request: IncomingMessage,
  call: SimulatorCall,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const hash = createHash('sha256')
  const chunks: Buffer[] = []
  let size = 0
  const received: AsyncIterable<Buffer> = request
  for await (const chunk of received) {
    size += chunk.length
    if (size > bodyBytesMax) continue
    hash.update(chunk)
    chunks.push(chunk)
  }
  if (size > bodyBytesMax) return undefined
  call.bodyBytes = size
  call.bodySha256 = hash.digest('hex')
  return Buffer.concat(chunks)
}

async function checkBody(
  { endpoint, target }: Operation,
  bytes: Buffer<ArrayBuffer>,
  contentType: string,
  call: SimulatorCall,
): Promise<OrderRead> {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (endpoint.family === 'B' && target === 'edits') {
    // OpenAI answers 400 to a wrong content type, not 415.
    if (mediaType !== 'multipart/form-data') return unsupported(mediaType, 'multipart/form-data')
    const form = await new Response(bytes, { headers: { 'content-type': contentType } })
      .formData()
      .catch(() => undefined)
    if (form === undefined) return refuse(400, 'Could not parse multipart form.')
    const fields = [...form].filter(([, value]) => typeof value === 'string')
    call.body = withoutLongTexts(Object.fromEntries(fields))
    return readEdit(form)
  }
  const body = parseJson(bytes.toString())
  call.body = withoutLongTexts(body)
  if (endpoint.family === 'A') return readOrderA(target, body)
  if (mediaType !== 'application/json') return unsupported(mediaType, 'application/json')
  return readGeneration(body)
}

function unsupported(given: string, expected: string): OrderRead {
  const message = `Unsupported content type: '${given}'. Expected '${expected}'.`
  return refuse(400, message, { code: 'unsupported_content_type' })
}

/** Returns the value of a JSON text, or `undefined` when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const loggedTextCharactersMax = 4096

/** Returns a body as the log keeps it: every long text, such as an image, is replaced by its length. */
function withoutLongTexts(body: unknown): unknown {
  const text = JSON.stringify(body, (_name, value: unknown) =>
    typeof value === 'string' && value.length > loggedTextCharactersMax
      ? `<${value.length} characters>`
      : value,
  )
  return parseJson(text)
}
