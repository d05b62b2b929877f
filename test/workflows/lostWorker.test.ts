import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { heartbeatTimeoutMs } from '../../workflows/heartbeats.ts'
import {
  openTestWorld,
  createScripts,
  handleOf,
  startTestWorker,
} from '../support/temporal/temporalWorld.ts'

it('gives the task of a killed worker to another within the heartbeat timeout', async () => {
  const world = await openTestWorld()
  const { address, namespace } = world.settings
  const path = fileURLToPath(new URL('../support/temporal/lostWorker.ts', import.meta.url))
  const doomed = spawn(process.execPath, [path, address, namespace], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const scripts = createScripts()
  const start = scripts.add({ produce: [{ kind: 'succeeded' }] })
  await world.startTask(start)
  for await (const line of createInterface({ input: doomed.stdout })) {
    if (line === `taken ${start.taskId}`) break
  }
  doomed.kill('SIGKILL')
  await once(doomed, 'exit')
  const killedAtMs = performance.now()

  const worker = await startTestWorker(world.settings, scripts.activities)
  const end: unknown = await handleOf(world, start.taskId).result()
  expect(end).toEqual({ outcome: 'succeeded' })
  // Plus the pause of the retry policy, and a second because the server's timers are late.
  expect(performance.now() - killedAtMs).toBeLessThan(heartbeatTimeoutMs + 6_000)
  await worker.stop()
  await world.close()
}, 60_000)
