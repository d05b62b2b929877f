import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient, errorOf } from '../support/clients/client.ts'
import { editBody, generateBody, inputImage } from '../support/clients/requestBodies.ts'
import * as call from '../support/clients/syncCalls.ts'
import { redPixelPng } from '../support/images.ts'
import { freePort } from '../support/ports.ts'
import type { DarkroomProcess } from '../support/service/testService.ts'
import { startDarkroomProcess, startTestService } from '../support/service/testService.ts'
import { until } from '../support/timing.ts'

// What an API does while there is no worker, so that every task stays queued.

const service = await startTestService({ workers: 0 })
const client = createClient(service.url, (await service.account()).secret)
afterAll(() => service.stop())

const contents = (text: string) => ({ contents: [{ parts: [{ text }] }] })

/** Every route that makes a task, with a valid body. */
const routes: readonly (readonly [string, (by: Client, prompt?: string) => Promise<Response>])[] = [
  ['a submit', (by, prompt = 'x') => by.submit(generateBody({ prompt }))],
  ['generations', (by, prompt = 'x') => call.generate(by, { prompt })],
  ['edits', (by, prompt = 'x') => call.edit(by, { prompt })],
  ['generateContent', (by, prompt = 'x') => call.content(by, 'generateContent', contents(prompt))],
  [
    'asyncGenerateContent',
    (by, prompt = 'x') => call.content(by, 'asyncGenerateContent', contents(prompt)),
  ],
]

const message = expect.any(String)

/** Counts the tasks and holds of an account. */
async function tasksOf(accountId: string): Promise<number | null> {
  const found = await service.pool.query(
    `select 1 from task where account_id = $1
     union all select 1 from ledger where account_id = $1 and kind = 'hold'`,
    [accountId],
  )
  return found.rowCount
}

describe('every route that makes a task', () => {
  it.each(routes)(
    'returns 403 for an account whose balance is too small, and holds nothing: %s [auth-3]',
    async (_what, send) => {
      const { accountId, secret } = await service.account(5)
      const answer = await send(createClient(service.url, secret))
      expect(answer.status).toBe(403)
      const code = 'insufficient_user_quota'
      expect(await errorOf(answer)).toEqual({ message, type: 'new_api_error', param: '', code })
      expect(await tasksOf(accountId)).toBe(0)
    },
  )
})

/** Not imported from the source: a value that the source loses must fail here. */
const allowed: Readonly<Record<string, readonly (readonly [model: string, value: unknown])[]>> = {
  size: [
    ...['1K', '2K', '4K'].map((size) => ['familya-3.1-flash-image', size] as const),
    ...['1024x1024', '2048x2048', '3840x2160'].map(
      (size) => ['familyb-image-2-web', size] as const,
    ),
  ],
  aspect_ratio: '1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9'
    .split(' ')
    .map((ratio) => ['familya-3.1-flash-image', ratio]),
  quality: ['low', 'medium', 'high', 'auto'].map((quality) => ['familyb-image-2-vip', quality]),
  n: [['familyb-image-2-vip', 1]],
}

describe('a valid submit', () => {
  it.each(Object.keys(allowed))(
    'accepts every value that the contract lists: %s [task-6, task-8, task-9]',
    async (field) => {
      for (const [model, value] of allowed[field] ?? []) {
        const answer = await client.submit(generateBody({ model, [field]: value }))
        expect([value, answer.status]).toEqual([value, 202])
      }
    },
  )

  it('accepts up to 16 PNG, JPEG and WebP images for an edit, with both families [task-4, image-2]', async () => {
    const image = sharp(redPixelPng)
    const three = [
      inputImage(redPixelPng, 'image/png'),
      inputImage(await image.clone().jpeg().toBuffer(), 'image/jpeg'),
      inputImage(await image.clone().webp().toBuffer(), 'image/webp'),
    ]
    const sixteen = Array.from({ length: 6 }, () => three)
      .flat()
      .slice(0, 16)
    for (const model of ['familya-2.5-flash-image', 'familyb-image-2-web']) {
      for (const input_images of [three, sixteen]) {
        const answer = await client.submit(editBody({ model, input_images }))
        expect(answer.status).toBe(202)
      }
    }
  })

  it('has no limit of requests per minute on family A [limit-2]', async () => {
    const body = generateBody({ model: 'familya-3-pro-image' })
    const answers = await Promise.all(Array.from({ length: 100 }, () => client.submit(body)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  })
})

describe('a queued task', () => {
  it('has the same record on both paths, which says when to ask again [lookup-1, lookup-4]', async () => {
    const { task_id } = await client.accepted(generateBody())
    const answers = await Promise.all(
      ['task', 'tasks'].map(async (segment) => {
        const headers = { authorization: client.authorization }
        const answer = await fetch(`${service.url}/v1/${segment}/${task_id}`, { headers })
        const { 'x-request-id': _id, date: _date, ...rest } = Object.fromEntries(answer.headers)
        return { status: answer.status, headers: rest, body: await answer.text() }
      }),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]?.status).toBe(200)
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      task_id,
      model: 'familyb-image-2-vip',
      status: 'queued',
      created_at: expect.stringMatching(/Z$/),
      progress: 0,
    })
    expect(answers[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'retry-after': '3',
    })
  })
})

describe('an API that runs as in production, with a small ingress limit', () => {
  let temporary: string
  let internal: string
  let api: DarkroomProcess
  let by: Client
  beforeAll(async () => {
    temporary = mkdtempSync(join(tmpdir(), 'darkroom-alone-'))
    internal = String(await freePort())
    const own = { TMPDIR: temporary, INTERNAL_PORT: internal, INGRESS_LIMIT_BYTES: '2048' }
    const environment = { ...service.environment, ...own }
    api = await startDarkroomProcess('api', dirname(service.blobDir), environment, { alone: true })
    by = createClient(api.url, client.authorization.replace('Bearer ', ''))
    return async () => {
      await api.stop(0)
      rmSync(temporary, { recursive: true, force: true })
    }
  })

  it('returns 413 beyond the limit on every route that makes a task [error-413]', async () => {
    const code = 'read_request_body_failed'
    for (const [what, send] of routes) {
      const answer = await send(by, 'x'.repeat(4096))
      expect([what, answer.status]).toEqual([what, 413])
      expect(await errorOf(answer)).toEqual({ message, type: 'new_api_error', param: '', code })
    }
    expect((await by.submit(generateBody())).status).toBe(202)
  })

  it('says that it is not ready while it still serves, ends with 0, and leaves no temporary file', async () => {
    api.signal('SIGTERM')
    await until('not ready', async () => {
      const { status } = await fetch(`http://127.0.0.1:${internal}/readyz`)
      return status === 503 ? true : undefined
    })
    expect((await fetch(`${api.url}/readyz`)).status).toBe(503)
    expect((await by.submit(generateBody())).status).toBe(202)
    expect(await api.ended).toBe(0)
    expect(readdirSync(temporary)).toEqual([])
  })
})
