import { beforeAll, expect, it } from 'vitest'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { limitedUrl } from '../support/database/limitedUrl.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ apis: 0 })
  return () => service.stop()
}, stackStartMsMax)

it('an API to which PostgreSQL gives no more connections accepts a burst of submits', async () => {
  const api = await service.startApi({
    DATABASE_URL: await limitedUrl(service, 8),
    DATABASE_SESSION_URL: service.databaseUrl,
  })
  const client = createClient(api.url, (await service.account()).secret)
  const submits = Array.from({ length: 60 }, async (_, n) => {
    const answer = await client.submit(generateBody(), { 'idempotency-key': `burst-${n}` })
    return `${answer.status} ${answer.ok ? '' : await answer.text()}`
  })
  const answers = await Promise.all(submits)
  const { rows } = await service.pool.query('select count(*)::int as tasks from task')
  await api.stop()
  expect(answers).toEqual(answers.map(() => '202 '))
  expect(rows).toEqual([{ tasks: 60 }])
})
