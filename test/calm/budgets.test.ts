import { rowsOf } from '../support/database/rowsOf.ts'
import { describe, expect, it } from 'vitest'
import type { Budget } from '../../src/domain/accounts/budget.ts'
import { listKeys } from '../../src/store/accounts/apiKeys.ts'
import { createClient } from '../support/clients/client.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import { generate } from '../support/clients/syncCalls.ts'
import { darkroomJson } from '../support/service/darkroomCli.ts'
import { calmService } from '../support/service/calmService.ts'

const service = await calmService()

const cli = <Answer>(...args: string[]) => darkroomJson<Answer>(args, service.environment)

/** A key with a budget. A submit of `low` costs 6 credits. */
async function openKey(budget: Budget) {
  const { keyId, secret, accountId } = await service.account()
  await cli('key', 'budget', keyId, `${budget.credits}/${budget.period}`)
  const used = async () => rowsOf(await listKeys(service.pool, accountId))[0]?.used
  return { client: createClient(service.url, secret), used }
}

const low = generateBody({ quality: 'low' })

/** The message without its time of renewal, and that time. */
async function refusalOf(response: Response) {
  const { error } = JSON.parse(await response.text())
  const [, message, renewsAt] = /^(.*) The budget renews at (\S+)\.$/.exec(error.message) ?? []
  return { status: response.status, ...error, message, renewsAt }
}

describe('a budget of a key', () => {
  it('refuses what would hold beyond it with 403, and says what it is and when it renews [budget-2]', async () => {
    const { client, used } = await openKey({ credits: 10, period: 'day' })
    await client.accepted(low)
    const midnight = new Date()
    midnight.setUTCHours(24, 0, 0, 0)
    const refusal = {
      status: 403,
      type: 'new_api_error',
      code: 'insufficient_user_quota',
      param: null,
      message:
        'The budget of this API key is 10 credits per day, and 6 are used. This request needs 6 credits.',
      renewsAt: midnight.toISOString().replace('.000Z', 'Z'),
    }
    expect(await refusalOf(await client.submit(low))).toEqual(refusal)
    const { action: _action, ...image } = low
    expect(await refusalOf(await generate(client, image))).toEqual(refusal)
    expect(await used()).toBe(6)
  })

  it('is not exceeded by 64 submits at once [budget-6]', async () => {
    const { client, used } = await openKey({ credits: 20, period: 'week' })
    const answers = await Promise.all(Array.from({ length: 64 }, () => client.submit(low)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(3)
    expect(statuses.filter((status) => status === 403)).toHaveLength(61)
    expect(await used()).toBe(18)
  })

  it('lets the replay of a request pass, also when 64 replays race for the last credit [budget-5]', async () => {
    const { client, used } = await openKey({ credits: 6, period: 'month' })
    const key = { 'Idempotency-Key': 'one' }
    const answers = await Promise.all(Array.from({ length: 64 }, () => client.submit(low, key)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    const ids = await Promise.all(answers.map(async (answer) => JSON.parse(await answer.text())))
    expect(new Set(ids.map(({ task_id }) => task_id)).size).toBe(1)
    expect((await client.submit(low)).status).toBe(403)
    expect((await client.submit(low, key)).status).toBe(202)
    expect(await used()).toBe(6)
  })

  it('has room again after a task failed, and lets `task retry` pass [budget-4, budget-5]', async () => {
    const { client, used } = await openKey({ credits: 6, period: 'month' })
    const failing = generateBody({ quality: 'low', prompt: '[sim:moderation times=1]' })
    const { task_id } = await client.accepted(failing)
    expect((await client.ended(task_id)).status).toBe('failed')
    expect(await used()).toBe(0)
    const settled = await client.accepted(low)
    expect((await client.ended(settled.task_id)).status).toBe('succeeded')
    expect((await client.submit(low)).status).toBe(403)
    const retried = await cli<{ task_id: string }>('task', 'retry', task_id)
    expect((await client.lookup(retried.task_id)).status).toBe(200)
    expect(await used()).toBe(6)
  })
})
