import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import type { Pool } from 'pg'
import type { Client } from './client.ts'
import { redPixelPng } from '../images.ts'
import { formBody, formType } from './requestBodies.ts'
import type { Seeded } from '../seeded.ts'
import { editParts } from './syncCalls.ts'
import { until } from '../timing.ts'

const path = '/v1/images/edits'

/** A complete, valid edits form: some hundred bytes, or more with a larger image. */
export function wholeForm(image: Buffer = redPixelPng): Buffer {
  const fields = { model: 'familyb-image-2-vip', prompt: 'a lighthouse', n: '1' }
  return formBody(editParts(fields, image))
}

/** Sends the bytes as an edits form and returns the status. */
export async function statusOfForm(client: Client, bytes: Uint8Array): Promise<number> {
  const answer = await fetch(`${client.url}${path}`, {
    method: 'POST',
    headers: { authorization: client.authorization, 'content-type': formType },
    body: new Uint8Array(bytes),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Sends the first `bytes` bytes of a form, then closes (odd) or resets (even) the connection. */
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

/** Damages a form in one to four places: bytes replaced, removed, doubled, inserted, or all further bytes cut off. */
export function damaged(form: Buffer, chance: Seeded): Buffer {
  const below = (max: number) => chance.between(0, max - 1)
  let bytes = form
  for (let left = chance.between(1, 4); left > 0; left -= 1) {
    const at = below(bytes.length)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    const some = chance.between(1, 20)
    const changes = [
      () => Buffer.concat([before, Buffer.of(below(256)), after.subarray(1)]),
      () => Buffer.concat([before, after.subarray(some)]),
      () => Buffer.concat([before, after.subarray(0, some), after]),
      () => Buffer.concat([before, Buffer.from('\r\n--form-boundary-7\r\n'), after]),
      () => before,
    ]
    bytes = chance.pick(changes)()
  }
  return bytes
}

/** Waits until no upload is recorded and the blob store contains no file. */
export async function nothingLeft(
  service: { readonly pool: Pool; readonly blobDir: string },
  limitMs: number,
): Promise<void> {
  await until(
    'an empty store',
    async () => {
      const { rowCount } = await service.pool.query('select 1 from upload limit 1')
      const folders = readdirSync(service.blobDir).filter((name) => !name.startsWith('.'))
      return rowCount === 0 && folders.length === 0 ? true : undefined
    },
    limitMs,
  )
}
