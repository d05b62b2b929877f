import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  abortForm,
  damaged,
  nothingLeft,
  statusOfForm,
  wholeForm,
} from '../support/clients/brokenForms.ts'
import type { Client } from '../support/clients/client.ts'
import { createClient } from '../support/clients/client.ts'
import { assertLedgerVerifies } from '../support/database/money.ts'
import { paddedPng } from '../support/images.ts'
import { createSeeded } from '../support/seeded.ts'
import { openDescriptors } from '../support/service/processUsage.ts'
import type { TestService } from '../support/service/testService.ts'
import { startTestService } from '../support/service/testService.ts'
import { stackStartMsMax } from '../support/stack/embeddedStack.ts'
import { runParallel, until } from '../support/timing.ts'

let service: TestService
let poor: Client
beforeAll(async () => {
  service = await startTestService({ workers: 0 })
  // Without credits a valid form is refused with 403 after it was read, so that no task is made.
  poor = createClient(service.url, (await service.account(0)).secret)
  return () => service.stop()
}, stackStartMsMax)
afterEach(async () => {
  await nothingLeft(service, 20_000)
  await assertLedgerVerifies(service.pool)
})

const parallel = 16
const form = wholeForm()

async function noTask(): Promise<void> {
  const { rowCount } = await service.pool.query('select 1 from task')
  expect(rowCount).toBe(0)
}

describe('an edits form', () => {
  it('returns 400 wherever it is cut; the whole form is refused only for its balance [sync-8]', async () => {
    const statuses = new Map<number, number>()
    await runParallel(form.length + 1, parallel, async (bytes) => {
      statuses.set(bytes, await statusOfForm(poor, form.subarray(0, bytes)))
    })
    const cut = [...statuses].filter(([bytes]) => bytes < form.length - 2)
    expect(cut.filter(([, status]) => status !== 400)).toEqual([])
    // The line end after the closing boundary is optional, so this form is complete.
    expect(statuses.get(form.length - 2)).toBe(403)
    expect(statuses.get(form.length)).toBe(403)
    await noTask()
  })

  it('is refused and never returns a 5xx when it is damaged in 1,000 ways', async () => {
    const chance = createSeeded(20_261_121)
    const counts = new Map<number, number>()
    await runParallel(1_000, parallel, async () => {
      const status = await statusOfForm(poor, damaged(form, chance))
      counts.set(status, (counts.get(status) ?? 0) + 1)
    })
    console.log(Object.fromEntries(counts))
    expect([...counts.keys()].filter((status) => status !== 400 && status !== 403)).toEqual([])
    expect(counts.get(400)).toBeGreaterThan(500)
    await noTask()
  })

  it('leaves no file descriptor, file or row when it is aborted midway 300 times [sync-8]', async () => {
    const pid = service.apis[0]?.pid ?? 0
    const large = wholeForm(paddedPng(200_000, 1))
    await abortForm(poor, large, large.length / 2)
    const before = openDescriptors(pid)
    const chance = createSeeded(7)
    await runParallel(300, parallel, () =>
      abortForm(poor, large, chance.between(0, large.length - 1)),
    )
    // The connection pool may have opened one PostgreSQL connection per concurrent upload.
    const most = before + parallel
    await until('closed descriptors', () => (openDescriptors(pid) <= most ? true : undefined))
    await noTask()
    const { rowCount } = await service.pool.query(`select 1 from ledger where kind <> 'deposit'`)
    expect(rowCount).toBe(0)
  })
})
