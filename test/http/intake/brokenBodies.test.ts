import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { editBody, formBody, formType, inputImage } from '../../support/clients/requestBodies.ts'
import { editParts } from '../../support/clients/syncCalls.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { paddedPng } from '../../support/images.ts'
import type { Seeded } from '../../support/seeded.ts'
import { createSeeded } from '../../support/seeded.ts'

const api = useTestApi()
const fields = { model: 'familyb-image-2-vip', prompt: 'a lighthouse', n: '1' }
const form = formBody(editParts(fields))

afterEach(nothingLeft)

/** Only tasks that were made have an upload. */
async function nothingLeft(): Promise<void> {
  await expect.poll(() => api.tasks.openUploads.size).toBe(0)
  const left = [...api.blobs.content.keys()].filter((key) => key.startsWith('in'))
  expect(left).toHaveLength(api.tasks.accepted.length)
}

/** Sends the bytes as an edits form, and returns the status. A form that is valid gets its image. */
async function statusOf(bytes: Uint8Array): Promise<number> {
  api.tasks.beforeAccept = async () => {
    setImmediate(() => void api.tasks.succeed(api.tasks.newestId()))
  }
  const answer = await api.send('/v1/images/edits', {
    method: 'POST',
    headers: { 'Content-Type': formType },
    body: new Uint8Array(bytes),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Damages a form in one to four places: bytes replaced, removed, doubled, inserted, or all further bytes cut off. */
function damaged(chance: Seeded): Buffer {
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

/** Sends the first `bytes` bytes of a body, then closes (odd) or resets (even) the connection. */
async function abort(path: string, type: string, body: Buffer, bytes: number): Promise<void> {
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    'Authorization: Bearer sk-a',
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await new Promise<unknown>((resolve) => socket.write(body.subarray(0, bytes), resolve))
  if (bytes % 2 === 0) socket.resetAndDestroy()
  else socket.destroy()
}

describe('an edits form', () => {
  it('returns 400 wherever it is cut [sync-8]', async () => {
    const lengths = Array.from({ length: form.length + 1 }, (_, bytes) => bytes).filter(
      (bytes) => bytes % 8 === 0 || bytes > form.length - 12,
    )
    const refused: number[] = []
    for (const bytes of lengths) {
      if ((await statusOf(form.subarray(0, bytes))) === 400) refused.push(bytes)
    }
    // The line end after the closing boundary is optional.
    expect(refused).toEqual(lengths.filter((bytes) => bytes < form.length - 2))
  })

  it('is refused and never returns a 5xx when it is damaged in 100 ways', async () => {
    const chance = createSeeded(20_261_121)
    const statuses: number[] = []
    for (let n = 0; n < 100; n += 1) statuses.push(await statusOf(damaged(chance)))
    expect(new Set(statuses)).toEqual(new Set([200, 400]))
    expect(statuses.filter((status) => status === 400).length).toBeGreaterThan(50)
  })
})

describe('a body whose connection breaks midway', () => {
  const image = paddedPng(200_000, 1)
  it.each([
    ['a form', '/v1/images/edits', formType, formBody(editParts(fields, image))],
    [
      'JSON',
      '/v1/images/tasks',
      'application/json',
      Buffer.from(JSON.stringify(editBody({ input_images: [inputImage(), inputImage(image)] }))),
    ],
  ])('makes no task and leaves nothing, 40 times: %s [sync-8]', async (_what, path, type, body) => {
    const made = api.tasks.accepted.length
    const chance = createSeeded(7)
    const lengths = Array.from({ length: 40 }, () => chance.between(0, body.length - 1))
    await Promise.all(lengths.map((bytes) => abort(path, type, body, bytes)))
    const open = () => {
      api.server.closeIdleConnections()
      return new Promise((resolve) => api.server.getConnections((_error, count) => resolve(count)))
    }
    await expect.poll(open).toBe(0)
    expect(api.tasks.accepted).toHaveLength(made)
  })
})
