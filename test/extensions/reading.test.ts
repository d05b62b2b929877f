import { beforeAll, describe, expect, it } from 'vitest'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import type { TestAccount, TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'

let service: TestService
let account: TestAccount
beforeAll(async () => {
  service = await startTestService()
  account = await service.account(1_000)
  return () => service.stop()
})

function get(
  path: string,
  { secret } = account,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    headers: { ...headers, Authorization: `Bearer ${secret}` },
  })
}

describe('GET /v1/account', () => {
  it('shows the account of the key and its credits', async () => {
    const response = await get('/v1/account')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      object: 'account',
      account_id: account.accountId,
      name: account.name,
      credits: { available: 1_000, held: 0, spent: 0 },
      models: null,
    })
  })

  it('lists the models of an account that may not use all', async () => {
    const models = ['familya-3-pro-image', 'familyb-image-2-web']
    const create = ['account', 'create', 'few-models', '--models', models.join(',')]
    await darkroomJson(create, service.environment)
    const { secret } = await darkroomJson<{ secret: string }>(
      ['key', 'create', 'few-models'],
      service.environment,
    )
    const response = await get('/v1/account', { ...account, secret })
    expect(await response.json()).toMatchObject({ name: 'few-models', models })
  })
})
