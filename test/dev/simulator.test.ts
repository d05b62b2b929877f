import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { afterAll, describe, expect, it } from 'vitest'
import { faultTable } from '../../src/dev/simulator/faults.ts'
import { createPlan } from '../../src/dev/simulator/plan.ts'
import { startSimulator } from '../../src/dev/simulator/startSimulator.ts'
import { formBody, formType } from '../support/clients/requestBodies.ts'
import { editParts } from '../support/clients/syncCalls.ts'
import { redPixelPng } from '../support/images.ts'

// What each fault answers is in test/upstream/outcomes.test.ts, and what each vendor accepts in vendors.test.ts.

const drawing = await startSimulator({ port: 0, latency: 0 })
const simulator = await startSimulator({ port: 0, latency: 0, image: 'tiny' })
afterAll(() => Promise.all([drawing.close(), simulator.close()]))

const vip = 'familyb-image-2-vip'
const keys = { authorization: 'Bearer key', 'x-goog-api-key': 'key' }

async function post(
  path: string,
  body: Buffer | object,
  type = 'application/json',
  at = simulator,
) {
  const sent = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body)
  const headers = { ...keys, 'content-type': type }
  const answer = await fetch(at.url + path, { method: 'POST', headers, body: sent })
  const content = await answer.text()
  const found = content.matchAll(/"(?:data|b64_json)":"([^"]*)"/g)
  const images = Array.from(found, ([, data = '']) => Buffer.from(data, 'base64'))
  return { status: answer.status, content, images }
}

const callA = (parts: readonly object[], config: object = {}, at = simulator) =>
  post(
    '/v1beta/models/familya-3-pro-image:generateContent',
    { contents: [{ role: 'user', parts }], generationConfig: { imageConfig: config } },
    undefined,
    at,
  )
const callB = (prompt: string, more: object = {}, at = simulator) =>
  post('/v1/images/generations', { model: vip, prompt, ...more }, undefined, at)
const editB = (source: Buffer, at = simulator) =>
  post(
    '/v1/images/edits',
    formBody(editParts({ model: vip, prompt: 'a red bicycle' }, source)),
    formType,
    at,
  )

const statusesOf = async (prompt: string, calls: number) => {
  const statuses: number[] = []
  while (statuses.length < calls) statuses.push((await callB(prompt)).status)
  return statuses
}

describe('an image of the simulator', () => {
  it('has the size and the format that are asked for', async () => {
    const prompt = 'many words and 日本語 '.repeat(20)
    const a = { aspectRatio: '16:9', imageSize: '512' }
    const answers = [
      await callA([{ text: prompt }], a, drawing),
      await callB(prompt, { size: '1024x768' }, drawing),
      await callB(prompt, { output_format: 'jpeg', output_compression: 0 }, drawing),
      await callB(prompt, { output_format: 'webp' }, drawing),
    ]
    const found = answers.map(async ({ images: [image] }) => {
      const { width, height, format } = await sharp(image).metadata()
      return `${format} ${width}x${height}`
    })
    expect(await Promise.all(found)).toEqual([
      'png 688x384',
      'png 1024x768',
      'jpeg 1024x1024',
      'webp 1024x1024',
    ])
  })

  it('is the same for the same request, and another for each of several', async () => {
    const calls = async () =>
      [await callB('same', { n: 2 }), await callB('other'), await editB(redPixelPng)].flatMap(
        ({ images }) => images.map((image) => image.toString('base64')),
      )
    const first = await calls()
    expect(new Set(first).size).toBe(4)
    expect(await calls()).toEqual(first)
  })
})

it('requests that a vendor refuses get 400, and no image', async () => {
  const data = redPixelPng.toString('base64')
  const image = (mimeType: string, given = data) => ({ inlineData: { mimeType, data: given } })
  const answers = [
    await callA([{ text: 'x', colour: 'red' }]),
    await callA([{ text: '' }]),
    await callA([{ text: 'x' }], { imageSize: '1k' }),
    await callA([{ text: 'x' }, image('image/jpeg')]),
    await callA([{ text: 'x' }, image('image/png', `${data.slice(0, 12)}*AAA`)]),
    await callB('x', { size: '1000x1024' }),
    await callB('x', { colour: 'red' }),
    await post('/v1/images/generations', { model: vip, prompt: 'x' }, 'text/plain'),
    await post('/v1/images/edits', formBody([{ name: 'prompt', value: 'x' }]), formType),
    await post('/v1/images/edits', Buffer.from('--form-boundary-7\r\nhalf'), formType),
    await editB(Buffer.from('no image')),
  ]
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400))
  expect(answers.flatMap(({ images }) => images)).toEqual([])
})

describe('faults', () => {
  it('of a prompt are served in order, and counted for each prompt', async () => {
    const faults = '[sim:429 times=1] a [sim:502 times=2][b] [sim:400 times=1]'
    expect(await statusesOf(faults, 5)).toEqual([429, 502, 502, 400, 200])
    expect(await statusesOf(`${faults}!`, 2)).toEqual([429, 502])
    expect(await statusesOf('[sim:500] x', 3)).toEqual([500, 500, 500])
  })

  it('for one model do not reach the calls of another', async () => {
    expect(await statusesOf(`[sim:500 model=${vip}] x`, 1)).toEqual([500])
    expect(await statusesOf('[sim:500 model=other] x', 1)).toEqual([200])
  })

  it.each([
    ['5000', /unknown fault "?5000"?, one of 429/],
    ['429 retry=3', /fault "429".*retry/],
    ['status code=200', /fault "status": code/],
    ['429 soon', /expected name=value/],
    [' ', /unknown fault ""/],
  ])('that cannot be read are refused with the reason: %j', async (fault, reason) => {
    const { status, content } = await callB(`[sim:${fault}]`)
    expect(status).toBe(400)
    expect(JSON.parse(content).error.message).toMatch(reason)
  })

  it('of a rate limit last until its window ends', () => {
    const { next } = createPlan(0)
    const prompt = 'x [sim:limit grants=1 window=5000]'
    const calls = [
      ['m', 1_000, undefined],
      ['m', 2_500, 4],
      ['other', 2_500, undefined],
      ['m', 5_999, 1],
      ['m', 6_000, undefined],
    ] as const
    for (const [model, nowMs, retryAfter] of calls) {
      const fault = retryAfter && { kind: '429', retryAfter, form: 'seconds', details: true }
      expect(next({ prompt, model }, nowMs)).toEqual({ ok: true, value: fault })
    }
  })
})

it('the log of calls has neither keys nor long texts', async () => {
  const prompt = 'p'.repeat(10_000)
  await callB(prompt)
  const [call] = simulator.calls({ prompt })
  expect(call).toMatchObject({ body: { prompt: '<10000 characters>' }, billed: true, status: 200 })
  expect(JSON.stringify(call?.headers)).not.toContain('key')
})

it.each(['//', '/nothing/here', '/v1beta/models/%:generateContent'])(
  'a request for %s does not end the simulator',
  async (path) => {
    const strange = request({ port: simulator.port, method: 'POST', path }).end()
    const [response] = await once(strange, 'response')
    response.resume()
    expect((await callB('x')).status).toBe(200)
  },
)

const main = fileURLToPath(new URL('../../src/dev/simulator/simulator.ts', import.meta.url))

it('the simulator prints every kind of fault with its fields for --help', async () => {
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const help = await text(child.stdout)
  for (const { kind } of faultTable) expect(help).toMatch(new RegExp(`^${kind}( [a-z]|:)`, 'm'))
  expect(help).toContain('429 retry-after form')
})
