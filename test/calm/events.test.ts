import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import type { TaskStreamEvent } from '../support/clients/eventStream.ts'
import { openEvents, readEvents } from '../support/clients/eventStream.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { errorResponse } from '../support/clients/responses.ts'
import { calmService } from '../support/service/calmService.ts'
import { timed, until } from '../support/timing.ts'

/** Its usual duration is 4 seconds, so its progress rises fast. */
const model = 'familya-3.1-flash-lite-image'
const service = await calmService()
const { secret } = await service.account()
const client = createClient(service.url, secret)
const second = createClient(service.urls[1], secret)

async function submit(prompt: string): Promise<string> {
  return (await client.accepted(generateBody({ model, prompt }))).task_id
}

/** A task whose upstream call lasts until `release`. */
async function heldTask(prompt: string) {
  const taskId = await submit(`${prompt} [sim:hold]`)
  await service.simulator.waitForCalls(1, { prompt })
  return { taskId, release: () => service.simulator.release({ prompt }) }
}

const ids = (events: readonly TaskStreamEvent[]) => events.map(({ id }) => id)

describe.concurrent('GET /v1/tasks/{id}/events', () => {
  it('sends the record at once, at changes of status and steps of progress, and ends with the end [events-1]', async () => {
    const taskId = await submit('events steps [sim:delay ms=4500]')
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
    // The poll finds the begin of the call late. After a second the progress is at 32, and after three at 67.
    expect(steps.length).toBeGreaterThan(3)
  })

  it('has the same ids on every API, and resumes on another one after `Last-Event-ID` [events-3]', async () => {
    const { taskId, release } = await heldTask('events two')
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
      return Object(record).progress > 60 ? true : undefined
    })
    await release()
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

  it('answers the same 404 for a task of another account and an unknown task [ext-3]', async () => {
    const taskId = await submit('events foreign')
    const stranger = createClient(service.url, (await service.account()).secret)
    for (const id of [taskId, `task_${'0'.repeat(32)}`]) {
      const answer = await openEvents(stranger, id)
      expect(answer.status).toBe(404)
      expect(errorResponse.parse(await answer.json()).error.code).toBe('task_not_found')
    }
  })

  it('ends when its API stops, which answers waiting lookups at once too, and resumes on another one [events-4, wait-5]', async ({
    onTestFinished,
  }) => {
    const { taskId, release } = await heldTask('events moved')
    const api = await service.startApi()
    onTestFinished(() => api.stop())
    const stream = readEvents(await openEvents({ ...client, url: api.url }, taskId))
    const headers = { authorization: client.authorization, prefer: 'wait=60' }
    const waiting = fetch(`${api.url}/v1/tasks/${taskId}`, { headers })
    await sleep(500)
    api.signal('SIGTERM')
    const stopped = timed(async () => {
      const answer = await waiting
      expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, null])
      expect(await answer.json()).toMatchObject({ status: 'processing' })
    })
    expect(await stopped).toBeLessThan(2_000)
    const { events } = await stream
    expect(events.length).toBeGreaterThan(0)
    await api.ended
    const resumed = readEvents(await openEvents(second, taskId, events.at(-1)?.id))
    await release()
    expect(ids((await resumed).events).at(-1)).toBe(1_000)
  })
})

const waitFor = (prefer: string, path: string, method = 'GET') =>
  fetch(client.url + path, { method, headers: { authorization: client.authorization, prefer } })

describe('a lookup with `Prefer: wait=N`', () => {
  it.each(['/v1/tasks/', '/v1/task/'])(
    'is answered at the end of the task: %s [wait-1]',
    async (path) => {
      const prompt = `waiting at ${path}`
      const { taskId, release } = await heldTask(prompt)
      const answering = waitFor('wait=60', path + taskId)
      await sleep(300)
      await release()
      const answer = await answering
      expect(answer.headers.get('preference-applied')).toBe('wait=60')
      expect(await answer.json()).toMatchObject({ task_id: taskId, status: 'succeeded' })
    },
  )

  it('is answered after N seconds with the record as it is [wait-2]', async () => {
    const { taskId, release } = await heldTask('waiting slow')
    const path = `/v1/tasks/${taskId}`
    const took = await timed(async () => {
      const answer = await waitFor('wait=1', path)
      expect(answer.headers.get('preference-applied')).toBe('wait=1')
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(await answer.json()).toMatchObject({ status: 'processing' })
    })
    expect(took).toBeGreaterThan(950)
    expect(took).toBeLessThan(5_000)
    expect(await timed(() => waitFor('wait=60', path, 'HEAD'))).toBeLessThan(900)
    expect(await timed(() => waitFor('wait=61', path))).toBeLessThan(900)
    await release()
    await client.ended(taskId)
  })
})
