import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import type { State } from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ProduceResult } from '../../src/tasks/produce/produceImage.ts'
import { runUntilFailed } from '../../src/temporal/worker/createWorker.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import type { TemporalWorld } from '../support/temporal/temporalWorld.ts'
import {
  openTestWorld,
  createScripts,
  handleOf,
  startTestWorker,
} from '../support/temporal/temporalWorld.ts'

let world: TemporalWorld

beforeAll(async () => {
  world = await openTestWorld()
  return () => world.close()
}, stackStartMsMax)

it('a worker that has failed ends, also when the SDK waits for ever', async () => {
  let state: State = 'RUNNING'
  const ended = runUntilFailed({ run: () => new Promise(() => {}), getState: () => state })
  state = 'FAILED'
  await expect(ended).rejects.toThrow('does not end')
})

describe('a worker', () => {
  it('serves one family while the other family hangs', async () => {
    const scripts = createScripts()
    const worker = await startTestWorker(world.settings, scripts.activities)
    const release = Promise.withResolvers<ProduceResult>()
    const hanging = Array.from({ length: 8 }, () =>
      scripts.add(
        { produce: [() => release.promise] },
        { family: 'A', model: 'familya-3-pro-image' },
      ),
    )
    await Promise.all(hanging.map(world.startTask))
    const start = scripts.add({ produce: [{ kind: 'succeeded' }] })
    await world.startTask(start)
    expect(await handleOf(world, start.taskId).result()).toEqual({ outcome: 'succeeded' })
    const calls = hanging.filter(({ taskId }) => scripts.seenOf(taskId).runsAtMs.length > 0)
    expect(calls.length).toBeLessThanOrEqual(5)
    release.resolve({ kind: 'succeeded' })
    await Promise.all(hanging.map(({ taskId }) => handleOf(world, taskId).result()))
    await worker.stop()
  })

  it('lets accounts take turns when one account has a backlog', async () => {
    const order: string[] = []
    const scripts = createScripts()
    const noted = (accountId: string) =>
      scripts.add(
        {
          produce: [
            async () => {
              order.push(accountId)
              return { kind: 'succeeded' }
            },
          ],
        },
        { accountId },
      )
    const backlog = Array.from({ length: 40 }, () => noted('acct_many'))
    const few = Array.from({ length: 2 }, () => noted('acct_few'))
    for (const start of [...backlog, ...few]) await world.startTask(start)
    const worker = await startTestWorker(world.settings, scripts.activities, { A: 1, B: 1 })
    await Promise.all(few.map(({ taskId }) => handleOf(world, taskId).result()))
    await worker.stop()
    expect(order.lastIndexOf('acct_few')).toBeLessThan(30)
  })

  it('stops at once while a connection to Temporal hangs', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = `127.0.0.1:${Object(silent.address()).port}`
    const settings = { ...world.settings, address }
    const worker = await startTestWorker(settings, createScripts().activities)
    await once(silent, 'connection')
    await worker.stop()
    expect(worker.isRunning()).toBe(false)
    silent.close()
    for (const socket of sockets) socket.destroy()
    await worker.done
  })
})
