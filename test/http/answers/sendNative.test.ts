import Koa from 'koa'
import { expect, it } from 'vitest'
import { createParts } from '../../../src/http/app.ts'
import type { ApiState } from '../../../src/http/context.ts'
import type { Piece } from '../../../src/http/intake/loopTurns.ts'
import { startRequest } from '../../../src/http/middleware.ts'
import { installRoutes } from '../../../src/http/routes.ts'
import { createTestDeps } from '../../support/http/testApi.ts'
import { listen } from '../../support/upstream/testServers.ts'

it('the pieces of an image wait for turns, and are not delayed in the first answer to a call', async () => {
  const { apiDeps, tasks } = createTestDeps()
  const images: Piece['image'][] = []
  const pause = async (_account: string, { image }: Piece = {}) => void images.push(image)
  const app = new Koa<ApiState>()
  app.use(startRequest(apiDeps))
  installRoutes(app, { ...createParts(apiDeps), loopTurns: { pause, see: () => {} } })
  const handle = app.callback()
  const url = await listen((request, response) => void handle(request, response))

  /** Returns the images of the last three turns of a call. The store in memory makes three pieces. */
  const call = async () => {
    const answer = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer sk-a',
        'content-type': 'application/json',
        'idempotency-key': 'same',
      },
      body: JSON.stringify({ model: 'familyb-image-2-vip', prompt: 'x' }),
    })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
    return images.splice(0).slice(-3)
  }
  const made = tasks.nextId()
  const first = call()
  await tasks.succeed(await made)
  expect(await first).toEqual(['paid_answer', 'paid_answer', 'paid_answer'])
  expect(await call()).toEqual([undefined, undefined, undefined])
})
