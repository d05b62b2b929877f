import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { handleOf } from '../support/temporal/temporalWorld.ts'
import { startTestService } from '../support/service/testService.ts'

it('two installations in one namespace of Temporal carry out their own tasks alone', async () => {
  const first = await startTestService()
  onTestFinished(first.stop)
  const { namespace } = first.temporal.settings
  const second = await startTestService({ environment: { TEMPORAL_NAMESPACE: namespace } })
  onTestFinished(second.stop)
  const ends = [first, second].map(async (service) => {
    const client = createClient(service.url, (await service.account()).secret)
    const submitted = Array.from({ length: 6 }, () => client.accepted(generateBody()))
    return Promise.all(
      (await Promise.all(submitted)).map(async ({ task_id }) => {
        const { status } = await client.ended(task_id)
        const { taskQueue } = await handleOf(first.temporal, task_id).describe()
        return { status, taskQueue }
      }),
    )
  })
  const [ofFirst = [], ofSecond = []] = await Promise.all(ends)
  expect([...ofFirst, ...ofSecond].map(({ status }) => status)).toEqual(
    Array.from({ length: 12 }, () => 'succeeded'),
  )
  const queues = [ofFirst, ofSecond].map((tasks) => new Set(tasks.map((task) => task.taskQueue)))
  expect(queues.map(({ size }) => size)).toEqual([1, 1])
  expect(queues[0]).not.toEqual(queues[1])
})
