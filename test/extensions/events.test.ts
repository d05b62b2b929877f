import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import type { TaskStreamEvent } from '../support/clients/eventStream.ts'
import { openEvents, readEvents } from '../support/clients/eventStream.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse } from '../support/clients/responses.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { until } from '../support/timing.ts'

const model = 'familyb-image-2-vip'
let service: CalmService
let client: Client
let second: Client
beforeAll(async () => {
  service = await calmService()
  const { secret } = await service.account()
  client = createClient(service.url, secret)
  second = createClient(service.urls[1], secret)
}, stackStartMsMax)

async function submit(prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ model, prompt }))).task_id
}

async function heldTask(prompt: string): Promise<string> {
  const taskId = await submit(`${prompt} [sim:hold]`)
  await service.simulator.waitForCalls(1, { prompt })
  return taskId
}

const ids = (events: readonly TaskStreamEvent[]) => events.map(({ id }) => id)

describe('GET /v1/tasks/{id}/events', () => {
  it('sends the record at once, at changes of status and steps of progress, and ends with the end [events-1]', async () => {
    const taskId = await submit('steps [sim:delay ms=6000]')
    const response = await openEvents(client, taskId)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const { events } = await readEvents(response)
    const last = events.at(-1)
    expect(last).toMatchObject({ id: 1_000, record: { status: 'succeeded', progress: 100 } })
    expect(last?.record).toEqual(await (await client.lookup(taskId)).json())
    for (const { id, record } of events.slice(0, -1)) {
      expect(id).toBe(record.status === 'queued' ? 0 : 1 + record.progress)
      expect(record).toMatchObject({ task_id: taskId, model })
    }
    const called = ids(events).filter((id) => id > 0 && id < 1_000)
    const steps = called.slice(1).map((id, n) => id - (called[n] ?? 0))
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(5)
    // The poll finds the begin of the call late. After a second the progress is at 40, and after three at 76.
    expect(steps.length).toBeGreaterThan(3)
  })

  it('has the same ids on every API, and resumes on another one after `Last-Event-ID` [events-3]', async () => {
    const taskId = await heldTask('two')
    const whole = readEvents(await openEvents(client, taskId))
    const cut: TaskStreamEvent[] = []
    const response = await openEvents(client, taskId)
    await readEvents(response, (event) => {
      cut.push(event)
      if (event.id > 40) throw new Error('enough')
    }).catch(() => {})
    const lastId = cut.at(-1)?.id ?? 0
    const resumed = readEvents(await openEvents(second, taskId, lastId))
    await until('more progress', async () => {
      const record = await (await second.lookup(taskId)).json()
      return Object(record).progress > 80 ? true : undefined
    })
    await service.simulator.release()
    const { events } = await whole
    const after = (await resumed).events
    expect(Math.min(...ids(after))).toBeGreaterThanOrEqual(lastId + 5)
    expect(ids(after).at(-1)).toBe(1_000)
    for (const { id, record } of [...events, ...after].filter((event) => event.id < 1_000)) {
      expect(id).toBe(record.status === 'queued' ? 0 : 1 + record.progress)
    }
    expect(after.at(-1)?.record).toEqual(events.at(-1)?.record)
    const over = await openEvents(second, taskId, 1_000)
    expect([over.status, await over.text()]).toEqual([204, ''])
  })

  it('sends the end of a task that has ended, also when it failed', async () => {
    const taskId = await submit('refused [sim:moderation]')
    await client.ended(taskId)
    const { events } = await readEvents(await openEvents(second, taskId))
    expect(events).toMatchObject([{ id: 1_000, record: { status: 'failed' } }])
  })

  it('answers the same 404 for a task of another account and an unknown task [ext-3]', async () => {
    const taskId = await submit('foreign')
    const stranger = createClient(service.url, (await service.account()).secret)
    for (const id of [taskId, `task_${'0'.repeat(32)}`]) {
      const answer = await openEvents(stranger, id)
      expect(answer.status).toBe(404)
      expect(errorResponse.parse(await answer.json()).error.code).toBe('task_not_found')
    }
  })

  it('ends when its API stops, and resumes on another one [events-4]', async () => {
    const taskId = await heldTask('moved')
    const api = await service.startApi()
    onTestFinished(() => api.stop())
    const stream = readEvents(await openEvents({ ...client, url: api.url }, taskId))
    await until('a connected stream', () => (api.output().includes('ready') ? true : undefined))
    api.signal('SIGTERM')
    const { events } = await stream
    expect(events.length).toBeGreaterThan(0)
    await api.ended
    const resumed = readEvents(await openEvents(second, taskId, events.at(-1)?.id))
    await service.simulator.release()
    expect(ids((await resumed).events).at(-1)).toBe(1_000)
  })
})
