import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answerImageKey } from '../../../src/domain/upstream/answerMeta.ts'
import { generateBody } from '../../support/clients/requestBodies.ts'
import { errorResponse, shortErrorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const waitersMax = { account: 3, process: 4 }
const api = useTestApi({ waitersMax })

const open = new Set<AbortController>()
afterEach(() => {
  for (const each of open) each.abort()
  open.clear()
})

type Headers = Record<string, string>

async function acceptedTask(headers: Headers = {}): Promise<string> {
  expect((await api.postJson('/v1/images/tasks', generateBody(), headers)).status).toBe(202)
  return api.tasks.newestId()
}

/** Opens a stream. `leave` disconnects. */
async function openStream(taskId: string, headers: Headers = {}) {
  const leave = new AbortController()
  open.add(leave)
  const response = await api.send(`/v1/tasks/${taskId}/events`, { headers, signal: leave.signal })
  return { response, leave: () => leave.abort() }
}

const lookup = (taskId: string, headers: Headers, init: RequestInit = {}) =>
  api.send(`/v1/tasks/${taskId}`, { headers, ...init })

const otherAccount = { Authorization: 'Bearer sk-b' }

describe('GET /v1/tasks/{task_id}/events', () => {
  it('answers 204 to a client that has seen the end, and to no other [events-3]', async () => {
    const taskId = await acceptedTask()
    await api.tasks.succeed(taskId)
    const seen = await openStream(taskId, { 'Last-Event-ID': '1000' })
    expect([seen.response.status, await seen.response.text()]).toEqual([204, ''])
    for (const id of ['', '0', '96', '999', 'x', '1000, 1000', '-1', '1'.repeat(10_000)]) {
      const { response } = await openStream(taskId, { 'Last-Event-ID': id })
      expect(response.status).toBe(200)
      expect(await response.text()).toMatch(/^event: task\nid: 1000\n/)
    }
  })

  it('answers HEAD with the headers alone, and takes no place for it', async () => {
    const taskId = await acceptedTask()
    for (let n = 0; n < 10; n += 1) {
      const head = await api.send(`/v1/tasks/${taskId}/events`, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
      expect(head.headers.get('content-type')).toBe('text/event-stream')
    }
  })
})

describe('a lookup with Prefer: wait', () => {
  it.each([
    ['wait=61', 'GET'],
    ['return=minimal', 'GET'],
    ['wait=60', 'HEAD'],
  ])('does not wait for %s, %s [wait-4]', async (Prefer, method) => {
    const response = await lookup(await acceptedTask(), { Prefer }, { method })
    expect(response.status).toBe(200)
    expect(response.headers.get('preference-applied')).toBeNull()
  })
})

describe('waiters', () => {
  it('are limited by account and by process, and free their place when they leave [wait-6]', async () => {
    const [own, foreign] = [await acceptedTask(), await acceptedTask(otherAccount)]
    const streams = [await openStream(own), await openStream(own), await openStream(own)]
    const refused = await openStream(own)
    expect(refused.response.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('5')
    const { error } = errorResponse.parse(await refused.response.json())
    expect(error.code).toBe('rate_limit_exceeded')
    const waiting = await lookup(own, { Prefer: 'wait=5' })
    expect(waiting.status).toBe(429)
    expect(shortErrorResponse.parse(await waiting.json()).error.code).toBe('rate_limit_exceeded')
    expect((await lookup(own, {})).status).toBe(200)
    expect((await openStream(foreign, otherAccount)).response.status).toBe(200)
    expect((await openStream(foreign, otherAccount)).response.status).toBe(429)
    streams[0]?.leave()
    await expect.poll(async () => (await openStream(own)).response.status).toBe(200)
  })
})

describe('a result', () => {
  let taskId: string
  beforeEach(async () => {
    taskId = await acceptedTask()
  })
  const result = () => api.send(`/v1/tasks/${taskId}/result`)

  it('is a 409 before the end, a 409 after a failure, and a 404 once expired [lookup-6]', async () => {
    const see = async () => {
      const response = await result()
      const { error } = shortErrorResponse.parse(await response.json())
      return [response.status, error.code, response.headers.get('x-should-retry')]
    }
    expect(await see()).toEqual([409, 'task_not_finished', 'false'])
    await api.tasks.fail(taskId, { code: 'upstream_error', cause: 'unknown', workPossible: true })
    expect(await see()).toEqual([409, 'task_failed', 'false'])
    await api.tasks.succeed(taskId)
    api.tasks.change(taskId, { nowMs: 1_700_086_460_000 })
    expect(await see()).toEqual([404, 'task_not_found', null])
  })

  it('is cut off when its image cannot be read to the end', async () => {
    await api.tasks.succeed(taskId)
    const answerId = 'anlarge'
    await api.blobs.put([answerImageKey(answerId), Buffer.alloc(100_000)])
    const asset = { answerId, mimeType: 'image/png', bytes: 100_000, sha256: '' } as const
    api.tasks.change(taskId, { asset })
    api.blobs.breakReadsAfter = 90_000
    await expect(result().then((response) => response.text())).rejects.toThrow('terminated')
    api.blobs.breakReadsAfter = undefined
    await expect.poll(() => String(api.reported.at(-1))).toContain('disk is gone')
  })
})
