import { afterEach, describe, expect, it } from 'vitest'
import { errorResponse, shortErrorResponse } from '../../support/clients/responses.ts'
import { useTestApi } from '../../support/http/testApi.ts'

const waitersMax = { account: 3, process: 4 }
const stopping = new AbortController()
const api = useTestApi({ waitersMax }, { stopping: stopping.signal })

const open = new Set<AbortController>()
afterEach(() => {
  for (const each of open) each.abort()
  open.clear()
})

async function acceptedTask(headers: Record<string, string> = {}): Promise<string> {
  const body = { model: 'familyb-image-2-vip', action: 'generate', prompt: 'a lighthouse' }
  expect((await api.postJson('/v1/images/tasks', body, headers)).status).toBe(202)
  return api.tasks.newestId()
}

/** Opens a stream. `leave` disconnects. */
async function openStream(taskId: string, headers: Record<string, string> = {}) {
  const leave = new AbortController()
  open.add(leave)
  const response = await api.send(`/v1/tasks/${taskId}/events`, { headers, signal: leave.signal })
  return { response, leave: () => leave.abort() }
}

const lookup = (taskId: string, headers: Record<string, string>, init: RequestInit = {}) =>
  api.send(`/v1/tasks/${taskId}`, { headers, ...init })

const otherAccount = { Authorization: 'Bearer sk-b' }

describe('GET /v1/tasks/{task_id}/events', () => {
  it('sends whole records on one line, each with its id, and ends after the end [events-1]', async () => {
    const taskId = await acceptedTask()
    const { response } = await openStream(taskId)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('cache-control')).toBe('no-store')
    api.tasks.change(taskId, { status: 'processing', processingAtMs: 1_700_000_001_500 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    await api.tasks.succeed(taskId)
    const events = (await response.text()).split('\n\n')
    expect(events).toHaveLength(4)
    expect(events[3]).toBe('')
    const records = events.slice(0, 3).map((event) => {
      const [, id, data = ''] = /^event: task\nid: (\d+)\ndata: (.+)$/.exec(event) ?? []
      return { id, record: JSON.parse(data) }
    })
    expect(records.map(({ id, record }) => [id, record.status, record.progress])).toEqual([
      ['0', 'queued', 0],
      ['2', 'processing', 1],
      ['1000', 'succeeded', 100],
    ])
    expect(records[2]?.record).toEqual(await (await lookup(taskId, {})).json())
    expect(records[2]?.record).toHaveProperty('result')
  })

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

  it('refuses what it does not know, in the envelope with four fields', async () => {
    const taskId = await acceptedTask()
    const unknown = await api.send(`/v1/tasks/${taskId}/events?since=3`)
    expect(unknown.status).toBe(400)
    expect(errorResponse.parse(await unknown.json()).error.param).toBe('since')
    const foreign = await openStream(taskId, otherAccount)
    expect(foreign.response.status).toBe(404)
    expect(errorResponse.parse(await foreign.response.json()).error.code).toBe('task_not_found')
  })
})

describe('a lookup with Prefer: wait', () => {
  it('answers at the end of the task and says that it waited', async () => {
    const taskId = await acceptedTask()
    const answering = lookup(taskId, { Prefer: 'wait=30' })
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(1)
    await api.tasks.succeed(taskId)
    const response = await answering
    expect(response.headers.get('preference-applied')).toBe('wait=30')
    expect(response.headers.get('access-control-expose-headers')).toMatch(/Preference-Applied/)
    expect(await response.json()).toMatchObject({ status: 'succeeded' })
    const again = await lookup(taskId, { Prefer: 'wait=7' })
    expect(again.headers.get('preference-applied')).toBe('wait=7')
  })

  it('answers after its time with the record as it is', async () => {
    const taskId = await acceptedTask()
    const startedAtMs = performance.now()
    const response = await lookup(taskId, { Prefer: 'respond-async, wait=1' })
    expect(performance.now() - startedAtMs).toBeGreaterThan(950)
    expect(response.headers.get('preference-applied')).toBe('wait=1')
    expect(response.headers.get('retry-after')).toBe('3')
    expect(await response.json()).toMatchObject({ status: 'queued' })
  })

  it.each(['wait=61', 'wait=0', 'return=minimal', 'wait'])(
    'does not wait for %s',
    async (Prefer) => {
      const response = await lookup(await acceptedTask(), { Prefer })
      expect(response.status).toBe(200)
      expect(response.headers.get('preference-applied')).toBeNull()
    },
  )

  it('does not wait for HEAD [wait-4]', async () => {
    const head = await lookup(await acceptedTask(), { Prefer: 'wait=60' }, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.headers.get('preference-applied')).toBeNull()
  })
})

describe('waiters', () => {
  it('are limited by account and by process, and free their place when they leave [wait-6]', async () => {
    const [own, foreign] = [await acceptedTask(), await acceptedTask(otherAccount)]
    const streams = [await openStream(own), await openStream(own), await openStream(own)]
    const refused = await openStream(own)
    expect(refused.response.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('5')
    expect(errorResponse.parse(await refused.response.json()).error.code).toBe(
      'rate_limit_exceeded',
    )
    const waiting = await lookup(own, { Prefer: 'wait=5' })
    expect(waiting.status).toBe(429)
    expect(shortErrorResponse.parse(await waiting.json()).error.code).toBe('rate_limit_exceeded')
    expect((await lookup(own, {})).status).toBe(200)
    const last = await openStream(foreign, otherAccount)
    expect(last.response.status).toBe(200)
    expect((await openStream(foreign, otherAccount)).response.status).toBe(429)
    streams[0]?.leave()
    await expect.poll(async () => (await openStream(own)).response.status).toBe(200)
  })

  it('of which one leaves during a wait leave nothing behind', async () => {
    const taskId = await acceptedTask()
    for (let n = 0; n < 10; n += 1) {
      const leave = new AbortController()
      const answering = lookup(taskId, { Prefer: 'wait=60' }, { signal: leave.signal })
      await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(1)
      leave.abort()
      await expect(answering).rejects.toThrow('aborted')
      await expect.poll(() => api.observed.at(-1)?.status).toBe(499)
      api.observed.splice(0)
    }
    expect(api.reported).toEqual([])
  })

  // The last test: after it, the process of this file is stopping.
  it('are answered at once when the process stops, and later ones too', async () => {
    const taskId = await acceptedTask()
    const { response } = await openStream(taskId)
    const answering = lookup(taskId, { Prefer: 'wait=60' })
    await expect.poll(() => api.tasks.waitersOf(taskId)).toBe(1)
    stopping.abort()
    expect(await response.text()).toMatch(/^event: task\nid: 0\n/)
    for (const waited of [await answering, await lookup(taskId, { Prefer: 'wait=60' })]) {
      expect(waited.status).toBe(200)
      expect(waited.headers.get('preference-applied')).toBeNull()
      expect(await waited.json()).toMatchObject({ status: 'queued' })
    }
    const late = await openStream(taskId)
    expect(await late.response.text()).toMatch(/^event: task\nid: 0\n/)
  })
})
