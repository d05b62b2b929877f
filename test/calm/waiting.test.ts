import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { calmService } from '../support/service/calmService.ts'
import { timed } from '../support/timing.ts'

const service = await calmService()
const client = createClient(service.url, (await service.account()).secret)

/** A task whose upstream call lasts until `release`. */
async function heldTask(prompt: string) {
  const { task_id: taskId } = await client.accepted(
    generateBody({ prompt: `${prompt} [sim:hold]` }),
  )
  await service.simulator.waitForCalls(1, { prompt })
  return { taskId, release: () => service.simulator.release({ prompt }) }
}

const waitFor = (taskId: string, prefer: string, init: RequestInit = {}, url = client.url) =>
  fetch(`${url}/v1/tasks/${taskId}`, {
    headers: { authorization: client.authorization, prefer },
    ...init,
  })

describe('a lookup with `Prefer: wait=N`', () => {
  it.each(['/v1/tasks/', '/v1/task/'])(
    'is answered at the end of the task: %s [wait-1]',
    async (path) => {
      const prompt = `waiting at ${path}`
      const { taskId, release } = await heldTask(prompt)
      const answering = fetch(`${client.url}${path}${taskId}`, {
        headers: { authorization: client.authorization, prefer: 'wait=60' },
      })
      await sleep(300)
      await release()
      const answer = await answering
      expect(answer.headers.get('preference-applied')).toBe('wait=60')
      expect(await answer.json()).toMatchObject({ task_id: taskId, status: 'succeeded' })
    },
  )

  it('is answered after N seconds with the record as it is [wait-2]', async () => {
    const { taskId, release } = await heldTask('waiting slow')
    const took = await timed(async () => {
      const answer = await waitFor(taskId, 'wait=1')
      expect(answer.headers.get('preference-applied')).toBe('wait=1')
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect(await answer.json()).toMatchObject({ status: 'processing' })
    })
    expect(took).toBeGreaterThan(950)
    expect(took).toBeLessThan(5_000)
    expect(await timed(() => waitFor(taskId, 'wait=60', { method: 'HEAD' }))).toBeLessThan(900)
    expect(await timed(() => waitFor(taskId, 'wait=61'))).toBeLessThan(900)
    await release()
    await client.ended(taskId)
  })
})
