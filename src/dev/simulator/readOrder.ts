import type { IncomingMessage } from 'node:http'
import { arrayBuffer } from 'node:stream/consumers'
import { z } from 'zod'
import type { Family } from '../../domain/models/models.ts'
import { fail } from '../../domain/result.ts'
import type { SimulatorCall } from './calls.ts'
import { digestOf } from './calls.ts'
import type { Operation } from './endpoints.ts'
import { readOrderA } from './orderA.ts'
import { readEdit, readOrderB } from './orderB.ts'
import type { OrderRead } from './order.ts'

/** What the path of a call names in each family. */
const targets: Readonly<Record<Family, 'model' | 'action'>> = { A: 'model', B: 'action' }

type Body = { readonly bytes: Buffer<ArrayBuffer>; readonly contentType: string }

const checkBody: Readonly<
  Record<
    Family,
    (operation: Operation, body: Body, call: SimulatorCall) => OrderRead | Promise<OrderRead>
  >
> = {
  A: ({ target }, { bytes }, call) => readOrderA(target, readJson(bytes, call)),
  B: checkBodyB,
}

/** Reads the whole body, writes what it contains into the log entry, and checks it as the vendor does. */
export async function readOrder(
  operation: Operation,
  request: IncomingMessage,
  call: SimulatorCall,
): Promise<OrderRead> {
  if (targets[operation.endpoint.family] === 'model') call.model = operation.target
  const bytes = Buffer.from(await arrayBuffer(request))
  call.bodyBytes = bytes.length
  call.bodySha256 = digestOf(bytes)
  const contentType = request.headers['content-type'] ?? ''
  const read = await checkBody[operation.endpoint.family](operation, { bytes, contentType }, call)
  if (!read.ok) return read
  const { action, model, prompt, sources } = read.value
  const images = sources.map(({ content: _content, ...image }) => image)
  Object.assign(call, { action, model, prompt, images })
  return read
}

async function checkBodyB(
  { endpoint, target }: Operation,
  { bytes, contentType }: Body,
  call: SimulatorCall,
): Promise<OrderRead> {
  const isEdit = target === 'edits'
  const expected = isEdit ? 'multipart/form-data' : 'application/json'
  // OpenAI answers 400 to a wrong content type, not 415.
  if (!contentType.toLowerCase().startsWith(expected)) {
    return fail(`Unsupported content type: '${contentType}'. Expected '${expected}'.`)
  }
  if (isEdit) {
    const form = await new Response(bytes, { headers: { 'content-type': contentType } })
      .formData()
      .catch(() => undefined)
    if (form === undefined) return fail('Could not parse multipart form.')
    call.body = withoutLongTexts(Object.fromEntries(form))
    if (endpoint.vendor === 'relay') form.delete('response_format')
    return readEdit(form)
  }
  const body = readJson(bytes, call)
  return readOrderB(endpoint.vendor === 'relay' ? withoutFormat(body) : body)
}

function readJson(bytes: Buffer, call: SimulatorCall): unknown {
  const body = parseJson(bytes.toString())
  call.body = withoutLongTexts(body)
  return body
}

/** Returns the body without the field that relays know and OpenAI does not. */
function withoutFormat(body: unknown): unknown {
  const { response_format: _, ...others } = z.record(z.string(), z.unknown()).catch({}).parse(body)
  return others
}

/** Returns the value of a JSON text, or `undefined` when it is not JSON. */
function parseJson(text: string): unknown {
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
