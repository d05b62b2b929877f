import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { requestTextBytesMax } from '../../../src/domain/limits.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const api = useTestApi({ ingressLimitBytes: 128 * 1024 * 1024 })

const taskPath = '/v1/images/tasks'
const contentPath = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'
const editsPath = '/v1/images/edits'

function postCoded(path: string, coded: Uint8Array): Promise<Response> {
  const type = path === editsPath ? formType : 'application/json'
  return api.send(path, {
    method: 'POST',
    body: new Uint8Array(coded),
    headers: { 'Content-Type': type, 'Content-Encoding': 'br' },
  })
}

const postCompressed = (path: string, body: string | Buffer) =>
  postCoded(path, brotliCompressSync(body))

describe('the texts of a body', () => {
  /** JSON writes U+0001 in six bytes. */
  const fitting = Math.floor((requestTextBytesMax - 1000) / 6)
  const tooMany = Math.floor(requestTextBytesMax / 6) + 1
  const task = (text: string) =>
    `{"model":"familyb-image-2-vip","action":"generate","prompt":"${text}"}`
  const content = (text: string) => `{"contents":[{"parts":[{"text":"${text}"}]}]}`
  const form = (size: string, prompt: string) =>
    formBody([
      { name: 'size', value: size },
      { name: 'prompt', value: prompt },
    ])
  const half = 'x'.repeat(requestTextBytesMax / 2)

  it.each<[string, string, string | Buffer, number]>([
    ['the escapes of a task', taskPath, task('\\u0001'.repeat(fitting)), 202],
    ['the escapes of a task', taskPath, task('\\u0001'.repeat(tooMany)), 413],
    ['the escapes of a v1beta document', contentPath, content('\\u0001'.repeat(fitting)), 202],
    ['the escapes of a v1beta document', contentPath, content('\\u0001'.repeat(tooMany)), 413],
    ['the escapes that a form would need', editsPath, form('', '\u0001'.repeat(tooMany)), 413],
    ['all texts of a form together', editsPath, form(half, `${half}x`), 413],
  ])('count with %s [limit-1]', async (_what, path, body, status) => {
    const response = await postCompressed(path, body)
    expect(response.status).toBe(status)
    const text = await response.text()
    expect(text.includes('"read_request_body_failed"')).toBe(status === 413)
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
  // The escapes of this text have as many bytes as are allowed. The request ends at the unknown model.
  const form = formBody([
    { name: 'prompt', value: '\u0001'.repeat(Math.floor((requestTextBytesMax - 1000) / 6)) },
    { name: 'size', value: 'none' },
    { name: 'model', value: 'unknown' },
  ])

  it.each<[string, string, string | Buffer]>([
    ['a form with a field of 16 MiB', editsPath, form],
    ['values that are not turns', contentPath, `{"contents":[${objects(99_000)}]}`],
    ['valid parts', contentPath, `{"contents":[{"parts":[${texts(33_000)}]}]}`],
    ['values', taskPath, `[${objects(99_000)}]`],
    ['as many values as are allowed', contentPath, `{"contents":[${objects(1_990)}]}`],
    ['white space', taskPath, Buffer.alloc(32 * mebibyte, ' ')],
    ['escapes', taskPath, `{"prompt":"${'\\u0001'.repeat(2 * mebibyte)}"}`],
  ])('blocks no other request for 50 ms: four bodies of %s', async (_what, path, body) => {
    const sent = brotliCompressSync(body)
    // Once before: the first request of a kind loads and compiles code.
    expect((await postCoded(path, sent)).status).toBe(400)
    const longestMs = await longestTurnMs(async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(() => postCoded(path, sent)))
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    })
    expect(longestMs).toBeLessThan(50)
  })
})
