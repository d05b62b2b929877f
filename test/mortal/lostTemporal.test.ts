import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { outcomesOf } from '../support/database/testAttempts.ts'
import { endFirst } from '../support/service/endProcess.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { openTestWorld } from '../support/temporal/temporalWorld.ts'

it(
  "when the only worker is killed while all of Temporal's data is lost, the next worker takes its calls up within 25 s",
  async () => {
    const [service, empty] = await Promise.all([startTestService(), openTestWorld()])
    onTestFinished(() => service.stop())
    onTestFinished(() => empty.close())
    const client = createClient(service.url, (await service.account()).secret)
    const prompt = 'Forgotten [sim:delay ms=60000 times=1]'
    const { task_id } = await client.accepted(generateBody({ prompt }))
    await service.simulator.waitForCalls(1, { prompt })
    await endFirst(service.workers, 'SIGKILL')
    const killedAtMs = performance.now()
    await service.startWorker({ TEMPORAL_NAMESPACE: empty.settings.namespace })
    await service.simulator.waitForCalls(2, { prompt }, 45_000)
    expect(performance.now() - killedAtMs).toBeLessThan(25_000)
    expect((await client.ended(task_id)).status).toBe('succeeded')
    expect(await outcomesOf(service.pool, task_id)).toEqual([
      'unknown worker_lost',
      'succeeded image',
    ])
    expect(await endFirst(service.workers, 'SIGTERM')).toBe(0)
    const { rowCount } = await service.pool.query(
      `select from worker_process where seen_at > now() - interval '10 seconds'`,
    )
    expect(rowCount).toBe(0)
  },
  stackStartMsMax,
)
