import sharp from 'sharp'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { defined } from '../../../src/domain/defined.ts'

/** The answer to a plain HTTP call, sent as the vendors document it and without Darkroom's own client. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** `{ $: 'not JSON' }` when the body is not JSON. */
  readonly json: Json
}

export type Json = Record<string, unknown>

export async function callA(
  simulator: Simulator,
  body: unknown,
  options: { model?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const { model = 'familya-3-pro-image', headers = {}, signal } = options
  return post(`${simulator.url}/v1beta/models/${model}:generateContent`, {
    headers: { 'content-type': 'application/json', 'x-goog-api-key': 'key', ...headers },
    body: JSON.stringify(body),
    ...defined({ signal }),
  })
}

export async function callB(
  simulator: Simulator,
  body: unknown,
  options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const { headers = {}, signal } = options
  return post(`${simulator.url}/v1/images/generations`, {
    headers: { 'content-type': 'application/json', authorization: 'Bearer key', ...headers },
    body: JSON.stringify(body),
    ...defined({ signal }),
  })
}

/** Sends the form of an edit. `field` is `image` or `image[]`. */
export async function editB(
  simulator: Simulator,
  fields: Record<string, string>,
  images: readonly Blob[],
  field = 'image[]',
): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  for (const image of images) form.append(field, image, 'source')
  return post(`${simulator.url}/v1/images/edits`, {
    headers: { authorization: 'Bearer key' },
    body: form,
  })
}

async function post(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', redirect: 'manual', ...init })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

function parse(text: string): Json {
  try {
    const json: unknown = JSON.parse(text)
    return isJson(json) ? json : { $: json }
  } catch {
    return { $: 'not JSON' }
  }
}

/** True for arrays too: `at` uses their indexes as keys. */
function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}

/** A body for family A: one text, then the images. */
export function bodyA(text: string, images: readonly Buffer[] = [], config?: unknown): Json {
  const inline = images.map((image) => ({
    inlineData: { mimeType: 'image/png', data: image.toString('base64') },
  }))
  return {
    contents: [{ role: 'user', parts: [{ text }, ...inline] }],
    ...defined({ generationConfig: config }),
  }
}

/** A body for family B. */
export function bodyB(prompt: string, more: Json = {}): Json {
  return { model: 'familyb-image-2-vip', prompt, ...more }
}

/** The value at a path of keys and indexes; undefined when there is none. */
export function at(json: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((value, key) => (isJson(value) ? value[key] : undefined), json)
}

/** The parts of family A's first candidate. */
export function partsOf({ json }: Answer): Json[] {
  const parts = at(json, 'candidates', 0, 'content', 'parts')
  return Array.isArray(parts) ? parts.filter(isJson) : []
}

/** The images of an answer of either family, decoded from base64. */
export function imagesOf(answer: Answer): Buffer[] {
  const data = at(answer.json, 'data')
  const texts = Array.isArray(data)
    ? data.map((item) => at(item, 'b64_json'))
    : partsOf(answer).map((part) => at(part, 'inlineData', 'data'))
  return texts.filter((text) => typeof text === 'string').map((text) => Buffer.from(text, 'base64'))
}

export function pngOf(width: number, height: number, color = '#3366cc'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: color } })
    .png()
    .toBuffer()
}

export function blobOf(bytes: Buffer, type = 'image/png'): Blob {
  return new Blob([new Uint8Array(bytes)], { type })
}
