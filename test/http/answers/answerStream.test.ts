import type { Arbitrary } from 'fast-check'
import {
  assert,
  asyncProperty,
  boolean,
  double,
  integer,
  jsonValue,
  oneof,
  option,
  record,
  string,
} from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { TaskFailure } from '../../../src/domain/failure.ts'
import { editParts } from '../../support/clients/syncCalls.ts'
import { formBody, formType } from '../../support/clients/requestBodies.ts'
import { startTestApi, useTestApi } from '../../support/http/testApi.ts'
import { redPixelPng } from '../../support/images.ts'
import { createMemoryBlobs } from '../../support/blobs/memoryBlobs.ts'
import { until } from '../../support/timing.ts'

const hour = 3_600_000
/** Its streams begin with their event. */
const quick = useTestApi({ streamTimes: { beginMs: hour, signMs: hour } })
/** Its streams begin at once, and its calls without one wait for no time. */
const patient = useTestApi({ streamTimes: { beginMs: 0, signMs: hour }, syncDeadlineMs: 1 })

type Send = (api: Pick<typeof quick, 'postJson' | 'send'>, key?: string) => Promise<Response>
const withKey = (key?: string) => (key === undefined ? {} : { 'Idempotency-Key': key })
const json =
  (path: string, body: object): Send =>
  (api, key) =>
    api.postJson(path, body, withKey(key))

const model = 'familyb-image-2-vip'
const contents = [{ parts: [{ text: 'a lighthouse' }] }]
const content = (operation: string) =>
  json(`/v1beta/models/familya-3-pro-image:${operation}`, { contents })
const generation = json('/v1/images/generations', { model, prompt: 'a', stream: true })
const edit: Send = (api, key) => {
  const parts = editParts({ model, prompt: 'a', stream: 'true', partial_images: '3' })
  const body = new Uint8Array(formBody(parts))
  const headers = { 'Content-Type': formType, ...withKey(key) }
  return api.send('/v1/images/edits', { method: 'POST', headers, body })
}

const data = redPixelPng.toString('base64')
const native = {
  candidates: [
    {
      content: {
        parts: [
          { text: 'a\u2028b\u2029c\u0085d' },
          { inlineData: { mimeType: 'image/png', data } },
        ],
      },
    },
  ],
  modelVersion: 'model',
  responseId: 'response',
}
const imageEvent = (operation: string) => ({
  type: `${operation}.completed`,
  b64_json: data,
  created_at: 5,
  size: '1024x1024',
  output_format: 'png',
  background: 'auto',
  usage: expect.objectContaining({ total_tokens: 0 }),
  credits_charged: 7,
})

/** How an image is asked for, and what its stream has: sign of life, text around the event, and the event. */
type Form = {
  readonly send: Send
  readonly sign: string
  readonly before: string
  readonly after: string
  readonly event: object
}
const ofImages = (send: Send, operation: string): Form => ({
  send,
  sign: ': \n\n',
  before: `event: ${operation}.completed\ndata: `,
  after: '\n\n',
  event: imageEvent(operation),
})
const forms: Readonly<Record<string, Form>> = {
  'a generation': ofImages(generation, 'image_generation'),
  'an edit': ofImages(edit, 'image_edit'),
  'Google with alt=sse': {
    send: content('streamGenerateContent?alt=sse'),
    sign: '\n',
    before: 'data: ',
    after: '\n\n',
    event: native,
  },
  'Google without alt': {
    send: content('streamGenerateContent'),
    sign: '\n',
    before: '[',
    after: ']',
    event: native,
  },
}
const eachForm = Object.entries(forms)

const refused = { code: 'rate_limit_exceeded', cause: 'refused', workPossible: false } as const

/** Returns the JSON of the one event of a stream, without the text around it. */
function eventIn(text: string, before: string, after: string): unknown {
  expect([text.slice(0, before.length), text.slice(-after.length)]).toEqual([before, after])
  const line = text.slice(before.length, -after.length)
  // Older clients for Python end a line at each of these.
  expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/)
  return JSON.parse(line)
}

/** Asks for an image, and does `act` to its task. */
async function answerAfter(send: () => Promise<Response>, act: (taskId: string) => unknown) {
  const [answer] = await Promise.all([send(), quick.tasks.nextId().then(act)])
  return answer
}

/** Asks for a stream, and waits until it has begun. */
async function begun(send: Send, key?: string) {
  const [answer, taskId] = await Promise.all([send(patient, key), patient.tasks.nextId()])
  expect(answer.status).toBe(200)
  return { answer, taskId }
}

describe('a stream whose task ends at once', () => {
  it.each(eachForm)(
    'has the one event with the image, of a replay too: %s [stream-1]',
    async (name, { send, before, after, event }) => {
      const first = await answerAfter(() => send(quick, name), quick.tasks.succeed)
      const replay = await send(quick, name)
      const type = after === ']' ? 'application/json' : 'text/event-stream'
      for (const [answer, replayed] of [
        [first, 'false'],
        [replay, 'true'],
      ] as const) {
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          'content-type': type,
          'x-accel-buffering': 'no',
          'x-task-id': quick.tasks.newestId(),
          'idempotent-replayed': replayed,
          'x-credits-charged': '7',
        })
        expect(eventIn(await answer.text(), before, after)).toEqual(event)
      }
    },
  )

  it.each(eachForm)(
    'has the status of its failure, as without a stream: %s [stream-3]',
    async (_name, { send }) => {
      const answer = await answerAfter(
        () => send(quick),
        (taskId) => quick.tasks.fail(taskId, { ...refused, retryAfterMs: 6_200 }),
      )
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7'])
      expect(await answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
    },
  )
})

it.each([
  ['a generation', generation, json('/v1/images/generations', { model, prompt: 'a' })],
  ['Google', content('streamGenerateContent'), content('generateContent')],
])(
  'a stream is the same request as the call without one: %s [stream-8]',
  async (name, ...sends) => {
    const key = `same ${name}`
    const [streamed, waited] = sends
    await (await answerAfter(() => streamed(quick, key), quick.tasks.succeed)).text()
    const replay = await waited(quick, key)
    await replay.text()
    expect([replay.headers.get('content-type'), replay.headers.get('idempotent-replayed')]).toEqual(
      ['application/json', 'true'],
    )
  },
)

describe('a stream that waits', () => {
  it('begins after 5 s with a sign of life, which comes again each 10 s [stream-4]', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const api = await startTestApi()
    onTestFinished(() => api.close())
    let text: string | undefined
    const read = async () => {
      const { body } = await generation(api)
      text = ''
      for await (const chunk of body ?? []) text += Buffer.from(chunk).toString()
    }
    const asked = read()
    await until('the call', () => api.tasks.waitersOf(api.tasks.newestId()) === 1 || undefined)
    vi.advanceTimersByTime(4_990)
    await sleep(50)
    expect(text).toBeUndefined()
    vi.advanceTimersByTime(20)
    await until('one sign', () => text === ': \n\n' || undefined)
    vi.advanceTimersByTime(20_000)
    await until('three signs', () => text === ': \n\n'.repeat(3) || undefined)
    await api.tasks.succeed(api.tasks.newestId())
    await asked
    expect(text).toMatch(/^(: \n\n){3}event: image_generation\.completed\ndata: .*\n\n$/)
  })

  it.each(eachForm)(
    'has its sign of life, then its event, beyond the deadline of other calls: %s [stream-4, stream-6]',
    async (_name, { send, sign, before, after, event }) => {
      const { answer, taskId } = await begun(send)
      await sleep(20)
      await patient.tasks.succeed(taskId)
      const text = await answer.text()
      expect(eventIn(text, sign + before, after)).toEqual(event)
    },
  )

  it('sends no sign of life within its event, however slowly its image comes [stream-4]', async () => {
    const blobs = createMemoryBlobs()
    const slow = async function* (content: AsyncIterable<Uint8Array>) {
      await sleep(50)
      yield* content
    }
    const read: typeof blobs.read = async (...asked) => {
      const found = await blobs.read(...asked)
      return found && { ...found, content: slow(found.content) }
    }
    const streamTimes = { beginMs: 0, signMs: 5 }
    const api = await startTestApi({ streamTimes }, { blobs: { ...blobs, read } })
    onTestFinished(() => api.close())
    const [answer] = await Promise.all([
      generation(api),
      api.tasks.nextId().then(api.tasks.succeed),
    ])
    expect(await answer.text()).toMatch(
      /^(: \n\n)*event: image_generation\.completed\ndata: {.*}\n\n$/,
    )
  })

  it('cancels its task when its client leaves, unless another one waits for it [stream-8]', async () => {
    const first = await begun(generation, 'left')
    const second = await generation(patient, 'left')
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    await first.answer.body?.cancel()
    await expect.poll(() => patient.tasks.waitersOf(first.taskId)).toBe(1)
    expect(patient.tasks.cancelled).toEqual([])
    await second.body?.cancel()
    await expect.poll(() => patient.tasks.cancelled).toEqual([first.taskId])
    await expect.poll(() => patient.observed.at(-1)).toMatchObject({ status: 499 })
  })

  it('goes on for as long as other calls may wait when its API stops, and asks then to be repeated [stream-7]', async () => {
    const stopping = new AbortController()
    const api = await startTestApi(
      { streamTimes: { beginMs: 0, signMs: hour }, syncDeadlineMs: 100 },
      { stopping: stopping.signal },
    )
    onTestFinished(() => api.close())
    const answer = await generation(api)
    const stoppedAt = performance.now()
    stopping.abort()
    const text = await answer.text()
    expect(performance.now() - stoppedAt).toBeGreaterThan(95)
    expect(eventIn(text, ': \n\nevent: error\ndata: ', '\n\n')).toMatchObject({
      error: { code: 'generation_timeout', should_retry: true, task_id: api.tasks.newestId() },
    })
  })
})

type Failed = {
  readonly failure: TaskFailure
  readonly shown: { readonly code: string; readonly [field: string]: unknown }
  readonly status: number
  readonly google: string
}

describe('a failure after the beginning of a stream', () => {
  const failures: readonly Failed[] = [
    {
      failure: { code: 'content_policy_violation', cause: 'rejected', workPossible: false },
      shown: { type: 'invalid_request_error', code: 'moderation_blocked', should_retry: true },
      status: 400,
      google: 'INVALID_ARGUMENT',
    },
    {
      failure: { ...refused, retryAfterMs: 6_200 },
      shown: {
        type: 'rate_limit_error',
        code: 'rate_limit_exceeded',
        should_retry: true,
        retry_after: 7,
      },
      status: 429,
      google: 'RESOURCE_EXHAUSTED',
    },
    {
      failure: { code: 'cancelled', cause: 'cancelled', workPossible: false },
      shown: { type: 'new_api_error', code: 'cancelled', should_retry: false },
      status: 500,
      google: 'INTERNAL',
    },
    {
      failure: { code: 'upstream_error', cause: 'operator_fault', workPossible: false },
      shown: { type: 'new_api_error', code: 'do_request_failed', should_retry: true },
      status: 500,
      google: 'INTERNAL',
    },
  ]
  it.each(failures)(
    "is the event of OpenAI's form, with the advice of the call without a stream: $shown.code [stream-5]",
    async ({ failure, shown, status }) => {
      const { answer, taskId } = await begun(generation)
      await patient.tasks.fail(taskId, failure)
      const event = eventIn(await answer.text(), ': \n\nevent: error\ndata: ', '\n\n')
      expect(event).toEqual({
        type: 'error',
        error: {
          message: expect.stringMatching(status === 500 ? /request id: req_/ : /\.$/),
          param: status === 500 ? '' : null,
          task_id: taskId,
          ...shown,
        },
      })
      await expect.poll(() => patient.observed.at(-1)).toMatchObject({ status, taskId })
    },
  )

  it.each(failures)(
    "is the event of Google's form: $failure.code [stream-5]",
    async ({ failure, shown, status, google }) => {
      for (const form of ['Google with alt=sse', 'Google without alt']) {
        const { send, sign, before, after } = forms[form] ?? { send: generation }
        const { answer, taskId } = await begun(send)
        await patient.tasks.fail(taskId, failure)
        const code = shown.code.replace('moderation_blocked', failure.code)
        const type = 'type.googleapis.com/google.rpc.'
        const info = { reason: code, domain: 'darkroom', metadata: { task_id: taskId } }
        expect(eventIn(await answer.text(), `${sign}${before}`, after ?? '')).toEqual({
          error: {
            code: status,
            message: expect.any(String),
            status: google,
            details: [
              { '@type': `${type}ErrorInfo`, ...info },
              ...(status === 429 ? [{ '@type': `${type}RetryInfo`, retryDelay: '7s' }] : []),
            ],
          },
        })
      }
    },
  )

  it("is the model's own answer where it refuses a request in Google's form [stream-5]", async () => {
    const { send, sign, before, after } = forms['Google with alt=sse'] ?? { send: generation }
    const { answer, taskId } = await begun(send)
    const rejection = { promptFeedback: { blockReason: 'SAFETY' } }
    patient.tasks.change(taskId, { rejection })
    await patient.tasks.fail(taskId, {
      code: 'content_policy_violation',
      cause: 'rejected',
      workPossible: false,
    })
    expect(eventIn(await answer.text(), `${sign}${before}`, after ?? '')).toEqual(rejection)
  })

  it('is an event that is not to be retried where the image cannot be read [stream-5]', async () => {
    const { answer, taskId } = await begun(generation)
    vi.spyOn(patient.blobs, 'read').mockRejectedValueOnce(new Error('disk is gone'))
    await patient.tasks.succeed(taskId)
    expect(eventIn(await answer.text(), ': \n\nevent: error\ndata: ', '\n\n')).toMatchObject({
      error: { code: 'internal_error', should_retry: false, task_id: taskId },
    })
    expect(String(patient.reported.at(-1))).toMatch('disk is gone')
  })

  it('resets the connection while the event is being written [stream-10]', async () => {
    patient.blobs.breakReadsAfter = 10
    onTestFinished(() => void (patient.blobs.breakReadsAfter = undefined))
    const { answer, taskId } = await begun(generation)
    await patient.tasks.succeed(taskId)
    await expect(answer.text()).rejects.toThrow('terminated')
  })
})

/** What `patient` says to a call without a stream, which waits for no time. */
const waitIsOver = '500 '

async function saidBy(answer: Response): Promise<string> {
  const type = answer.headers.get('content-type')
  if (answer.status !== 200) return `${answer.status} ${Object(await answer.json()).error.param}`
  await answer.body?.cancel()
  return `${answer.status} ${type}`
}

it('whatever `stream` and `partial_images` are, the answer is a stream, one without, or a 400 that names the field [stream-1, stream-2]', async () => {
  const odd = oneof(string({ maxLength: 5 }), integer(), double(), jsonValue({ maxDepth: 1 }))
  const field = (known: Arbitrary<unknown>) => option(oneof(known, odd), { nil: undefined })
  const fields = record({
    stream: field(boolean()),
    partial_images: field(integer({ min: 0, max: 4 })),
  })
  const property = asyncProperty(fields, async (given) => {
    // As sent: JSON writes an infinite number as null.
    const { stream, partial_images: partials = 0 } = JSON.parse(JSON.stringify(given))
    const few: readonly unknown[] = stream === true ? [null, 0, 1, 2, 3] : [null, 0]
    const expected =
      typeof (stream ?? false) !== 'boolean'
        ? '400 stream'
        : !few.includes(partials)
          ? '400 partial_images'
          : stream === true
            ? '200 text/event-stream'
            : waitIsOver
    const body = { model, prompt: 'a', ...given }
    const answer = await patient.postJson('/v1/images/generations', body)
    expect(await saidBy(answer)).toBe(expected)
  })
  await assert(property, { numRuns: 100 })
})

it('`alt` is `sse` or `json`, and no other parameter is known [stream-9]', async () => {
  for (const [query, param] of [
    ['alt=proto', 'alt'],
    ['alt=sse&alt=sse', 'alt'],
    ['atl=sse', 'atl'],
  ]) {
    const answer = await content(`streamGenerateContent?${query}`)(quick)
    expect([answer.status, Object(await answer.json()).error.param]).toEqual([400, param])
  }
})
