import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { rawPost, sendRaw } from '../support/clients/rawCalls.ts'
import { generateBody } from '../support/clients/requestBodies.ts'
import type { CalmService } from '../support/service/calmService.ts'
import { calmService } from '../support/service/calmService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'

describe('an Idempotency-Key', () => {
  let service: CalmService
  let keyed: Client
  beforeAll(async () => {
    service = await calmService()
    keyed = createClient(service.url, (await service.account()).secret)
  }, stackStartMsMax)

  const send = (keys: readonly string[], encoding?: BufferEncoding) => {
    const lines = keys.map((key) => `Idempotency-Key: ${key}`)
    const head = [`Authorization: ${keyed.authorization}`, ...lines]
    return sendRaw(service.url, rawPost('/v1/images/tasks', head, generateBody(), encoding))
  }

  it.each([
    ['255 bytes', 'k'.repeat(255), 'latin1'],
    ['255 bytes above ASCII', 'é'.repeat(255), 'latin1'],
    ['254 bytes in 127 letters', 'é'.repeat(127), 'utf8'],
  ] as const)(
    'is accepted and replays by its bytes: %s [idem-2, idem-4]',
    async (_what, key, encoding) => {
      for (const replayed of ['false', 'true']) {
        expect(await send([key], encoding)).toMatch(
          new RegExp(`^HTTP/1.1 202 [\\s\\S]*idempotent-replayed: ${replayed}`, 'i'),
        )
      }
    },
  )

  it.each([
    ['256 bytes', ['k'.repeat(256)], 'latin1'],
    ['256 bytes in 128 letters', ['é'.repeat(128)], 'utf8'],
    ['empty', [''], 'latin1'],
    ['sent twice', ['a', 'a'], 'latin1'],
  ] as const)('returns 400: %s [idem-4]', async (_what, keys, encoding) => {
    const answer = await send(keys, encoding)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('"param":"Idempotency-Key","code":"invalid_value"')
  })

  it('belongs to its account: another account makes its own task with the same key [idem-5]', async () => {
    const other = createClient(service.url, (await service.account()).secret)
    const headers = { 'idempotency-key': 'shared' }
    const mine = await keyed.accepted(generateBody(), headers)
    const theirs = await other.accepted(generateBody({ prompt: 'Another' }), headers)
    expect(theirs.task_id).not.toBe(mine.task_id)
  })
})
