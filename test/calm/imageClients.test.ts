import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI, { ConflictError, toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/dev/command.ts'
import { createClient } from '../support/clients/client.ts'
import { paddedPng, redPixelPng } from '../support/images.ts'
import { mebibyte } from '../support/service/processUsage.ts'
import type { TestAccount } from '../support/service/testAccount.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()
const client = createClient(service.url, (await service.account()).secret)
const imagePath = join(service.environment['DATA_DIR'] ?? '', 'source.png')
// Large enough that curl sends `Expect: 100-continue`.
await writeFile(imagePath, paddedPng(2 * mebibyte, 1))

const model = 'familyb-image-2-vip'
const size = '1024x1024'

/** Returns status and failure code of each task of the account, oldest first. */
async function endsOf({ accountId }: TestAccount): Promise<readonly string[]> {
  const { rows } = await service.pool.query<{ end: string }>(
    `select status || coalesce(' ' || failure_code, '') as end from task where account_id = $1
     order by created_at`,
    [accountId],
  )
  return rows.map(({ end }) => end)
}

const sha256 = (base64: string | undefined) =>
  createHash('sha256')
    .update(Buffer.from(base64 ?? '', 'base64'))
    .digest('hex')

async function eventsOf(stream: AsyncIterable<object>): Promise<readonly object[]> {
  const events: object[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe.concurrent("OpenAI's client for Node", () => {
  async function connect() {
    const account = await service.account()
    const sent: string[] = []
    const openai = new OpenAI({
      apiKey: account.secret,
      baseURL: `${service.url}/v1`,
      fetch: async (url, init) => {
        const answer = await fetch(url, init)
        sent.push(`${answer.status}`)
        return answer
      },
    })
    return { account, sent, images: openai.images }
  }

  it('generates with only its base URL changed', async () => {
    const { images, account } = await connect()
    const { data, usage } = await images.generate({ model, size, prompt: 'node' })
    expect(sha256(data?.[0]?.b64_json)).not.toBe(sha256(''))
    expect(usage?.total_tokens).toBeGreaterThan(0)
    expect(await endsOf(account)).toEqual(['succeeded'])
  })

  it.each([
    ['a file without name and type', () => toFile(redPixelPng)],
    ['a list of one', async () => [await toFile(redPixelPng, 'a.png', { type: 'image/png' })]],
    ['a stream', async () => createReadStream(imagePath)],
  ])('edits an image given as %s', async (what, image) => {
    const { images, account } = await connect()
    const prompt = `node edit: ${what}`
    const { data } = await images.edit({ model, size, prompt, image: await image() })
    expect(data?.[0]?.b64_json).toEqual(expect.any(String))
    expect(await endsOf(account)).toEqual(['succeeded'])
    const [upstream] = await service.simulator.calls({ prompt })
    const bytes = what === 'a stream' ? 2 * mebibyte : redPixelPng.length
    expect(upstream?.images).toMatchObject([{ mimeType: 'image/png', bytes }])
  })

  it('waits out a 429 as told and is charged once', async () => {
    const { images, account, sent } = await connect()
    const prompt = 'node [sim:429 retry-after=1 times=1]'
    await images.generate({ model: 'familyb-image-2-web', prompt })
    expect(sent).toEqual(['429', '200'])
    expect(await endsOf(account)).toEqual(['failed rate_limit_exceeded', 'succeeded'])
  })

  it.each([
    ['at once', ''],
    ['after its beginning, with signs of life before it', ' [sim:delay ms=6000]'],
  ])('streams a generation and an edit: each is one event, %s [stream-1]', async (_when, fault) => {
    const { images, account } = await connect()
    const fields = { model, size, stream: true, partial_images: 2 } as const
    const streams = await Promise.all([
      images.generate({ ...fields, prompt: `node stream${fault}` }),
      toFile(redPixelPng).then((image) =>
        images.edit({ ...fields, prompt: `node stream edit${fault}`, image }),
      ),
    ])
    const events = await Promise.all(streams.map((stream) => eventsOf(stream)))
    for (const [at, operation] of ['image_generation', 'image_edit'].entries()) {
      const type = `${operation}.completed`
      expect(events[at]).toMatchObject([{ type, output_format: 'png', usage: expect.anything() }])
      expect(sha256(Object(events[at])[0].b64_json)).not.toBe(sha256(''))
    }
    expect(await endsOf(account)).toEqual(['succeeded', 'succeeded'])
  })

  it('throws the error of a stream that has begun, and obeys the status of one that has not [stream-3, stream-5]', async () => {
    const { images, account, sent } = await connect()
    const fault = (after: number) => `node [sim:status code=400 after=${after}]`
    const fields = { model, stream: true } as const
    const late = await images.generate({ ...fields, prompt: fault(6_000) })
    await expect(eventsOf(late)).rejects.toMatchObject({
      code: 'upstream_invalid_request',
      error: { should_retry: true, task_id: expect.stringMatching(/^task_/) },
    })
    await expect(images.generate({ ...fields, prompt: fault(0) })).rejects.toMatchObject({
      status: 400,
      code: 'upstream_invalid_request',
    })
    expect(sent).toEqual(['200', '400'])
    expect(await endsOf(account)).toEqual(Array(2).fill('failed upstream_invalid_request'))
  })

  it('does not retry a 409: the key keeps its one task', async () => {
    const { images, account, sent } = await connect()
    const options = { headers: { 'Idempotency-Key': 'node' } }
    await images.generate({ model, prompt: 'node first' }, options)
    const failure = await images
      .generate({ model, prompt: 'node second' }, options)
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ConflictError)
    expect(sent).toEqual(['200', '409'])
    expect(await endsOf(account)).toEqual(['succeeded'])
  })
})

describe('curl', () => {
  const curl = async (args: readonly string[]) => {
    const authorization = `Authorization: Bearer ${client.authorization.replace('Bearer ', '')}`
    const all = ['-sS', '--fail-with-body', '-H', authorization, ...args]
    const { ok, output } = await runCommand('curl', all, { env: process.env, timeoutMs: 25_000 })
    if (!ok) throw new Error(output)
    return JSON.parse(output)
  }

  it('generates from JSON and edits a file sent in a form', async () => {
    const json = JSON.stringify({ model, size, prompt: 'curl' })
    const type = 'Content-Type: application/json'
    const url = `${service.url}/v1/images`
    const generated = await curl([`${url}/generations`, '-H', type, '-d', json])
    const fields = [`model=${model}`, `size=${size}`, 'prompt=curl edit', `image=@${imagePath}`]
    const edited = await curl([`${url}/edits`, ...fields.flatMap((field) => ['-F', field])])
    for (const { data } of [generated, edited]) expect(data).toHaveLength(1)
    const [upstream] = await service.simulator.calls({ prompt: 'curl edit' })
    expect(upstream?.images).toMatchObject([{ mimeType: 'image/png', bytes: 2 * mebibyte }])
  })
})
