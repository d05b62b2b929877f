import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/ports.ts'
import { startDarkroomProcess } from '../support/service/darkroomProcess.ts'
import { startTestService } from '../support/service/testService.ts'

it('stops a worker cleanly from the moment when it takes offers', async () => {
  const service = await startTestService({ apis: 0, workers: 0 })
  onTestFinished(() => service.stop())
  const accepting = createServer((_request, response) => {
    const asked = service.pool.query('select from worker_process where accepting')
    void asked.then(({ rowCount }) => response.writeHead(rowCount === 1 ? 200 : 503).end())
  }).listen(0, '127.0.0.1')
  await once(accepting, 'listening')
  onTestFinished(() => void accepting.close())
  const url = `http://127.0.0.1:${Object(accepting.address()).port}`
  const worker = await startDarkroomProcess({
    name: 'worker',
    environment: {
      ...service.environment,
      PUBLIC_URL: 'https://images.example.test',
      WORKER_INTERNAL_PORT: String(await freePort()),
      // There is no bundle of the workflows in this folder, so the worker needs seconds to make it.
      DATA_DIR: join(service.environment['DATA_DIR'] ?? '', 'absent'),
    },
    url,
    readyUrl: url,
  })
  worker.signal('SIGTERM')
  expect(await worker.ended).toBe(0)
  const { rowCount } = await service.pool.query('select from worker_process')
  expect(rowCount).toBe(0)
}, 60_000)
