import Koa from 'koa'
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createParts } from '../../../src/http/app.ts'
import { createServer } from '../../../src/http/connection/createServer.ts'
import type { ApiState } from '../../../src/http/context.ts'
import type { Piece } from '../../../src/http/intake/loopTurns.ts'
import { startRequest } from '../../../src/http/middleware.ts'
import { installRoutes } from '../../../src/http/routes.ts'
import { createTestDeps } from '../../support/http/testApi.ts'
import { portOf } from '../../support/upstream/testServers.ts'

it('sends each piece of an image in a turn of its account, not in the line of images that are read by URL', async () => {
  const { apiDeps, tasks } = createTestDeps()
  const turns: (Piece & { readonly accountId: string })[] = []
  const loopTurns = {
    pause: async (accountId: string, piece: Piece = {}) => void turns.push({ accountId, ...piece }),
    see: () => {},
  }
  const app = new Koa<ApiState>()
  app.use(startRequest(apiDeps))
  installRoutes(app, { ...createParts(apiDeps), loopTurns })
  const server = createServer(app, { randomBytes })
  const url = `http://127.0.0.1:${await portOf(server)}/v1`
  const headers = { authorization: 'Bearer sk-a', 'content-type': 'application/json' }
  const body = '{"model":"familyb-image-2-vip","action":"generate","prompt":"x"}'
  await (await fetch(`${url}/images/tasks`, { method: 'POST', headers, body })).arrayBuffer()
  await tasks.succeed(tasks.newestId())
  turns.length = 0
  const result = await fetch(`${url}/tasks/${tasks.newestId()}/result`, { headers })
  expect(result.status).toBe(200)
  await result.arrayBuffer()
  server.closeAllConnections()
  server.close()
  // Once before each piece of the image, of which the store in memory makes three.
  expect(turns).toHaveLength(3)
  expect(new Set(turns.map(({ accountId }) => accountId))).toEqual(new Set(['sk-a']))
  expect(turns.map(({ isDownload }) => isDownload)).toEqual([false, false, false])
})
