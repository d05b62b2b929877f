import Koa from 'koa'
import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createParts } from '../../../src/http/app.ts'
import { createServer } from '../../../src/http/connection/createServer.ts'
import type { ApiState } from '../../../src/http/context.ts'
import type { Piece } from '../../../src/http/intake/loopTurns.ts'
import { startRequest } from '../../../src/http/middleware.ts'
import { installRoutes } from '../../../src/http/routes.ts'
import { createTestDeps } from '../../support/http/testApi.ts'
import { portOf } from '../../support/upstream/testServers.ts'

type Turn = Piece & { readonly accountId: string }

const json = { authorization: 'Bearer sk-a', 'content-type': 'application/json' }

/** Starts an API on simulated tasks that records every turn which a body or an image asks for. */
async function startApi() {
  const { apiDeps, tasks } = createTestDeps()
  const turns: Turn[] = []
  const loopTurns = {
    pause: async (accountId: string, piece: Piece = {}) => void turns.push({ accountId, ...piece }),
    see: () => {},
  }
  const app = new Koa<ApiState>()
  app.use(startRequest(apiDeps))
  installRoutes(app, { ...createParts(apiDeps), loopTurns })
  const server = createServer(app, { randomBytes })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${await portOf(server)}/v1`, tasks, turns }
}

const prompt = { model: 'familyb-image-2-vip', prompt: 'x' }

describe('the pieces of an image are sent in turns of its account', () => {
  it('that its pace delays, when a result is read', async () => {
    const { url, tasks, turns } = await startApi()
    const body = JSON.stringify({ ...prompt, action: 'generate' })
    await (await fetch(`${url}/images/tasks`, { method: 'POST', headers: json, body })).text()
    await tasks.succeed(tasks.newestId())
    turns.length = 0
    const result = await fetch(`${url}/tasks/${tasks.newestId()}/result`, { headers: json })
    expect(result.status).toBe(200)
    await result.arrayBuffer()
    // The store in memory makes three pieces.
    expect(turns.map(({ accountId, image }) => [accountId, image])).toEqual([
      ['sk-a', undefined],
      ['sk-a', undefined],
      ['sk-a', undefined],
    ])
  })

  it('that its pace does not delay, in the first answer to a synchronous call, which is paid for', async () => {
    const { url, tasks, turns } = await startApi()
    const headers = { ...json, 'idempotency-key': 'same' }
    const call = () =>
      fetch(`${url}/images/generations`, {
        method: 'POST',
        headers,
        body: JSON.stringify(prompt),
      })
    const imagesOf = async (answer: Promise<Response>) => {
      turns.length = 0
      const read = await answer
      expect(read.status).toBe(200)
      await read.arrayBuffer()
      // The turns before these three are those of the request.
      return turns.slice(-3).map(({ image }) => image)
    }
    const taskId = tasks.nextId()
    const first = imagesOf(call())
    await tasks.succeed(await taskId)
    expect(await first).toEqual(['paid_answer', 'paid_answer', 'paid_answer'])
    expect(await imagesOf(call())).toEqual([undefined, undefined, undefined])
  })
})
