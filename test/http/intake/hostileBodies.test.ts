import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import { useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'

const api = useTestApi({ ingressLimitBytes: 128 * 1024 * 1024 })

const taskPath = '/v1/images/tasks'
const contentPath = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'

function postCoded(
  path: string,
  coded: Uint8Array,
  contentType = 'application/json',
): Promise<Response> {
  return api.send(path, {
    method: 'POST',
    body: new Uint8Array(coded),
    headers: { 'Content-Type': contentType, 'Content-Encoding': 'br' },
  })
}

/** Sends the body compressed, and returns the status and the code of the answer. */
async function postCompressed(
  path: string,
  body: string | Uint8Array,
  contentType = 'application/json',
): Promise<{ status: number; sentBytes: number; code: unknown }> {
  const sent = brotliCompressSync(body)
  const response = await postCoded(path, sent, contentType)
  const answer: unknown = await response.json()
  const code: unknown = Reflect.get(Object(Reflect.get(Object(answer), 'error')), 'code')
  return { status: response.status, sentBytes: sent.length, code }
}

describe('a text that JSON must escape', () => {
  /** JSON writes U+0001 in six bytes. */
  const fittingCharacters = Math.floor((requestTextBytesMax - 1000) / 6)
  const tooManyCharacters = Math.floor(requestTextBytesMax / 6) + 1

  const task = (text: string) =>
    `{"model":"familyb-image-2-vip","action":"generate","prompt":"${text}"}`
  const content = (text: string) => `{"contents":[{"parts":[{"text":"${text}"}]}]}`

  it.each([
    ['a task', taskPath, task],
    ['a v1beta document', contentPath, content],
  ])('counts with its escapes in %s [limit-1]', async (_what, path, bodyOf) => {
    const fitting = await postCompressed(path, bodyOf('\\u0001'.repeat(fittingCharacters)))
    expect(fitting.status).toBe(202)
    const tooLarge = await postCompressed(path, bodyOf('\\u0001'.repeat(tooManyCharacters)))
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
    expect(tooLarge.sentBytes).toBeLessThan(1000)
  })

  it('counts with its escapes in a form', async () => {
    const prompt = { name: 'prompt', value: '\u0001'.repeat(tooManyCharacters) }
    const image = { name: 'image', filename: 'a.png', value: redPixelPng }
    const form = formBody([{ name: 'model', value: 'familyb-image-2-web' }, prompt, image])
    const tooLarge = await postCompressed('/v1/images/edits', form, formType)
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
  })
})

describe('the texts of a form', () => {
  it('count together', async () => {
    const half = 'x'.repeat(requestTextBytesMax / 2)
    const form = formBody([
      { name: 'size', value: half },
      { name: 'prompt', value: `${half}x` },
    ])
    const tooLarge = await postCompressed('/v1/images/edits', form, formType)
    expect(tooLarge).toMatchObject({ status: 413, code: 'read_request_body_failed' })
  })
})

/**
 * The longest turn of the event loop during `work`, in CPU time of this thread: other processes of the machine
 * do not count.
 */
async function longestTurnMs(work: () => Promise<void>): Promise<number> {
  let longestMicros = 0
  let atMicros = threadMicros()
  let timer = setImmediate(measure)
  function measure(): void {
    const nowMicros = threadMicros()
    longestMicros = Math.max(longestMicros, nowMicros - atMicros)
    atMicros = nowMicros
    timer = setImmediate(measure)
  }
  await work()
  clearImmediate(timer)
  return longestMicros / 1000
}

function threadMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

describe('a small body that unpacks to much work', () => {
  const objects = (count: number) => Array.from({ length: count }, () => '{}').join()
  const texts = (count: number) => Array.from({ length: count }, () => '{"text":"a"}').join()
  const mebibyte = 1024 * 1024

  it('blocks no other request for 50 ms: four forms with a field of 16 MiB', async () => {
    // The escapes of this text have as many bytes as are allowed. The request ends at the unknown model.
    const prompt = '\u0001'.repeat(Math.floor((requestTextBytesMax - 1000) / 6))
    const form = formBody([
      { name: 'prompt', value: prompt },
      { name: 'size', value: 'none' },
      { name: 'model', value: 'unknown' },
    ])
    const sent = brotliCompressSync(form)
    const post = () => postCoded('/v1/images/edits', sent, formType)
    expect((await post()).status).toBe(400)
    const longestMs = await longestTurnMs(async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(post))
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    })
    expect(longestMs).toBeLessThan(50)
  })

  it.each([
    ['values that are not turns', contentPath, `{"contents":[${objects(99_000)}]}`],
    ['valid parts', contentPath, `{"contents":[{"parts":[${texts(33_000)}]}]}`],
    ['values', taskPath, `[${objects(99_000)}]`],
    ['as many values as are allowed', contentPath, `{"contents":[${objects(1_990)}]}`],
    ['white space', taskPath, Buffer.alloc(32 * mebibyte, ' ')],
    ['escapes', taskPath, `{"prompt":"${'\\u0001'.repeat(2 * mebibyte)}"}`],
  ])('blocks no other request for 50 ms: four bodies of %s', async (...given) => {
    const [, path, body] = given
    const sent = brotliCompressSync(body)
    // Once before: the first request of a kind loads and compiles code.
    expect((await postCoded(path, sent)).status).toBe(400)
    const longestMs = await longestTurnMs(async () => {
      const answers = [1, 2, 3, 4].map(async () => await postCoded(path, sent))
      for (const { status } of await Promise.all(answers)) expect(status).toBe(400)
    })
    expect(longestMs).toBeLessThan(50)
  })
})
