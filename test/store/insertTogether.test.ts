import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { InsertTaskResult, NewTask } from '../../src/domain/ports/taskStore.ts'
import type { Route } from '../../src/domain/tasks/imageRequest.ts'
import { createInsertTogether } from '../../src/store/tasks/insertTogether.ts'
import { generateRequest } from '../support/database/testAccept.ts'

const inserted: InsertTaskResult = { kind: 'inserted', createdAtMs: 1 }

type Sent = {
  /** The task ids of a statement for one task, or for several. */
  readonly one?: string
  readonly many?: readonly string[]
  readonly end: (result?: InsertTaskResult | 'refused') => void
  readonly fail: (error: Error) => void
}

function openWorld() {
  const sent: Sent[] = []
  const clock = { ms: 0 }
  const insert = createInsertTogether({
    insertOne: ({ taskId }) =>
      new Promise((resolve, reject) => {
        const end: Sent['end'] = (result = inserted) => result !== 'refused' && resolve(result)
        sent.push({ one: taskId, end, fail: reject })
      }),
    insertMany: (tasks) =>
      new Promise((resolve, reject) => {
        const end: Sent['end'] = (result) =>
          resolve(result === 'refused' ? result : { createdAtMs: 1 })
        sent.push({ many: tasks.map(({ taskId }) => taskId), end, fail: reject })
      }),
    nowMs: () => clock.ms,
  })
  const shapes = () => sent.map(({ one, many }) => one ?? many)
  return { insert, sent, clock, shapes }
}

function task(taskId: string, given: Partial<NewTask> & { account?: string; route?: Route } = {}) {
  const { account = 'acct_a', route = 'images.tasks', ...rest } = given
  return {
    taskId,
    caller: { accountId: account, keyId: 'key_a', name: account },
    request: generateRequest({ route }),
    requestText: Buffer.from('{}'),
    fingerprint: Buffer.from('f'),
    credits: 1,
    deadlineMs: 1,
    hardEndMs: 2,
    ...rest,
  }
}

describe('tasks of one account', () => {
  it('are inserted at once when they come alone, and together when they come during an insert', async () => {
    const { insert, sent, shapes } = openWorld()
    const first = insert(task('1'))
    const later = ['2', '3', '4'].map((id) => insert(task(id)))
    expect(shapes()).toEqual(['1'])
    sent[0]?.end()
    expect(await first).toEqual(inserted)
    expect(shapes()).toEqual(['1', ['2', '3', '4']])
    const next = insert(task('5'))
    sent[1]?.end()
    expect(await Promise.all(later)).toEqual([inserted, inserted, inserted])
    await expect.poll(shapes).toEqual(['1', ['2', '3', '4'], '5'])
    sent[2]?.end({ kind: 'insufficient' })
    expect(await next).toEqual({ kind: 'insufficient' })
  })

  it('do not wait for those of other accounts, nor asynchronous ones for synchronous ones', () => {
    const { insert, shapes } = openWorld()
    void insert(task('1'))
    void insert(task('2', { account: 'acct_b' }))
    void insert(task('3', { route: 'images.generations' }))
    expect(shapes()).toEqual(['1', '2', '3'])
  })

  it('are inserted alone when they have an upload or a long text', () => {
    const { insert, shapes } = openWorld()
    void insert(task('1'))
    void insert(task('2', { uploadId: 'in-2' }))
    void insert(task('3', { requestText: Buffer.alloc(16 * 1024 + 1) }))
    void insert(task('4', { requestText: Buffer.alloc(16 * 1024) }))
    expect(shapes()).toEqual(['1', '2', '3'])
  })

  it('do not wait longer than a tenth of a second for an insert that hangs', async () => {
    const { insert, shapes } = openWorld()
    void insert(task('1'))
    void insert(task('2'))
    void insert(task('3'))
    await sleep(60)
    expect(shapes()).toEqual(['1'])
    await expect.poll(shapes).toEqual(['1', ['2', '3']])
  })

  it('are at most 32 in one statement', () => {
    const { insert, sent } = openWorld()
    for (let n = 0; n <= 32; n += 1) void insert(task(`${n}`))
    expect(sent.map(({ many }) => many?.length)).toEqual([undefined, 32])
  })

  it('are inserted one by one when they were refused together, and for a second after', async () => {
    const { insert, sent, clock, shapes } = openWorld()
    const first = insert(task('1'))
    const later = [insert(task('2')), insert(task('3'))]
    sent[0]?.end()
    await first
    // These two wait while the others are refused.
    const next = [insert(task('4')), insert(task('5'))]
    sent[1]?.end('refused')
    await expect.poll(shapes).toEqual(['1', ['2', '3'], '4', '5', '2', '3'])
    for (const [n, { end }] of sent.slice(2).entries()) {
      end(n === 3 ? { kind: 'insufficient' } : inserted)
    }
    expect(await Promise.all([...later, ...next])).toEqual([
      inserted,
      { kind: 'insufficient' },
      inserted,
      inserted,
    ])
    // Nothing is under way. It is still remembered that the account's tasks were refused.
    clock.ms = 999
    void insert(task('6', { account: 'acct_b' }))
    void insert(task('7'))
    void insert(task('8'))
    expect(shapes().slice(6)).toEqual(['6', '7', '8'])
    clock.ms = 1_000
    void insert(task('9'))
    expect(shapes().slice(9)).toEqual([])
  })

  it('share the error of their statement with nobody else', async () => {
    const { insert, sent } = openWorld()
    const first = insert(task('1'))
    const later = [insert(task('2')), insert(task('3'))]
    sent[0]?.end()
    await first
    sent[1]?.fail(new Error('no connection'))
    const ends = await Promise.allSettled(later)
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = insert(task('4'))
    sent[2]?.end()
    expect(await next).toEqual(inserted)
  })
})
