import { expect, it } from 'vitest'
import { useAttemptWorld } from '../support/database/attemptWorld.ts'
import { google, playTask } from '../support/upstream/vendorWorld.ts'

const world = useAttemptWorld()

it('the late refusal of a full vendor whose errors are free moves its task on, and bars nobody (Antigravity-Manager#2032)', async () => {
  const late = google(503, 'UNAVAILABLE', 'MODEL_CAPACITY_EXHAUSTED', { afterMs: 10_500 })
  const channel = { errorsAreFree: true }
  const played = await playTask(world, { family: 'A', one: [late], two: ['image'], channel })
  expect(played.outcomes).toEqual(['refused server_error', 'succeeded image'])
  expect(played.cooldown).toBeUndefined()
})
