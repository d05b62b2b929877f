import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Client } from './client.ts'
import { formBody, formType } from './requestBodies.ts'
import { redPixelPng } from '../images.ts'
import { editParts } from './syncCalls.ts'
import { until } from '../timing.ts'

const path = '/v1/images/edits'

/** A whole, legal edits form of some hundred bytes, or with a larger image. */
export function wholeForm(image: Buffer = redPixelPng): Buffer {
  const fields = { model: 'familyb-image-2-vip', prompt: 'a lighthouse', n: '1' }
  return formBody(editParts(fields, image))
}

/** Sends bytes as an edits form and answers the status. */
export async function statusOfForm(client: Client, bytes: Uint8Array): Promise<number> {
  const answer = await fetch(`${client.url}${path}`, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': formType },
    body: new Uint8Array(bytes),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Begins to send a form and breaks the connection after so many of its bytes. */
export async function abortForm(client: Client, form: Buffer, bytes: number): Promise<void> {
  const socket = connect(Number(new URL(client.url).port), '127.0.0.1')
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: ${client.authorization}`,
    `Content-Type: ${formType}`,
    `Content-Length: ${form.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const sent = new Promise<unknown>((resolve) => {
    socket.write(form.subarray(0, bytes), resolve)
  })
  await sent
  const closed = once(socket, 'close')
  if (bytes % 2 === 0) socket.resetAndDestroy()
  else socket.destroy()
  await closed
}

/** Whole numbers below `max`, always the same ones for a seed (mulberry32). */
export function numbersFrom(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % max
  }
}

/** One to four small injuries: bytes changed, lost, doubled, or the rest lost. */
export function injured(form: Buffer, number: (max: number) => number): Buffer {
  let bytes = form
  for (let left = 1 + number(4); left > 0; left -= 1) {
    const at = number(bytes.length)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    const some = 1 + number(20)
    const injuries = [
      () => Buffer.concat([before, Buffer.of(number(256)), after.subarray(1)]),
      () => Buffer.concat([before, after.subarray(some)]),
      () => Buffer.concat([before, after.subarray(0, some), after]),
      () => Buffer.concat([before, Buffer.from('\r\n--form-boundary-7\r\n'), after]),
      () => before,
    ]
    bytes = injuries[number(injuries.length)]?.() ?? bytes
  }
  return bytes
}

/** Waits until the sweep has left nothing: no upload recorded, no file in the blob store. */
export async function nothingLeft(
  place: { readonly pool: Pool; readonly blobDir: string },
  limitMs: number,
): Promise<void> {
  await until(
    'an empty store',
    async () => {
      const { rowCount } = await place.pool.query('select 1 from upload limit 1')
      const folders = readdirSync(place.blobDir).filter((name) => !name.startsWith('.'))
      const temporary = readdirSync(join(place.blobDir, '.temp'))
      return rowCount === 0 && folders.length + temporary.length === 0 ? true : undefined
    },
    limitMs,
  )
}
