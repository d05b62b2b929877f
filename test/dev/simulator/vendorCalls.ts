import sharp from 'sharp'
import { afterEach, beforeEach } from 'vitest'
import { z } from 'zod'
import type { Simulator, SimulatorOptions } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
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

export type CallOptions = {
  readonly model?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

/** Starts a simulator for each test of a file, which answers at once. */
export function useSimulator(options: Omit<SimulatorOptions, 'port'> = { image: 'tiny' }) {
  const used: { simulator?: Simulator } = {}
  beforeEach(async () => {
    used.simulator = await startSimulator({ port: 0, latency: 0, ...options })
  })
  afterEach(() => used.simulator?.close())
  const running = (): Simulator => {
    if (used.simulator === undefined) throw new Error('Bug: no simulator yet')
    return used.simulator
  }

  const post = async (path: string, init: RequestInit): Promise<Answer> => {
    const url = `${running().url}${path}`
    const response = await fetch(url, { method: 'POST', redirect: 'manual', ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parse(text) }
  }
  const postJson = (path: string, key: Json, body: unknown, { headers, signal }: CallOptions) =>
    post(path, {
      headers: { 'content-type': 'application/json', ...key, ...headers },
      body: JSON.stringify(body),
      ...defined({ signal }),
    })

  const callA = (body: unknown, { model = 'familya-3-pro-image', ...options }: CallOptions = {}) =>
    postJson(`/v1beta/models/${model}:generateContent`, { 'x-goog-api-key': 'key' }, body, options)
  const callB = (body: unknown, options: CallOptions = {}) =>
    postJson('/v1/images/generations', { authorization: 'Bearer key' }, body, options)
  /** Sends the form of an edit. `field` is `image` or `image[]`. */
  const editB = (
    fields: Record<string, string>,
    images: readonly Blob[],
    field = 'image[]',
  ): Promise<Answer> => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    for (const image of images) form.append(field, image, 'source')
    return post('/v1/images/edits', { headers: { authorization: 'Bearer key' }, body: form })
  }
  return { running, post, callA, callB, editB }
}

const jsonBody = z.record(z.string(), z.unknown())

function parse(text: string): Json {
  try {
    const json: unknown = JSON.parse(text)
    return Array.isArray(json) ? { $: json } : jsonBody.parse(json)
  } catch {
    return { $: 'not JSON' }
  }
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

/** The images of an answer of either family, decoded from base64. */
export function imagesOf({ text }: Answer): Buffer[] {
  const found = text.matchAll(/"(?:data|b64_json)":"([^"]*)"/g)
  return Array.from(found, ([, data = '']) => Buffer.from(data, 'base64'))
}

export function pngOf(width: number, height: number, color = '#3366cc'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: color } })
    .png()
    .toBuffer()
}

export function blobOf(bytes: Buffer, type = 'image/png'): Blob {
  return new Blob([new Uint8Array(bytes)], { type })
}

/** Calls family B with the same prompt several times, and returns the statuses. */
export async function callStatuses(
  callB: (body: unknown) => Promise<Answer>,
  prompt: string,
  calls: number,
): Promise<number[]> {
  const statuses: number[] = []
  for (let call = 0; call < calls; call += 1) statuses.push((await callB(bodyB(prompt))).status)
  return statuses
}
