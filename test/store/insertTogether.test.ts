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
}

function openWorld() {
  const sent: Sent[] = []
  const clock = { ms: 0 }
  const insert = createInsertTogether({
    insertOne: ({ taskId }) =>
      new Promise((resolve) => {
        const end: Sent['end'] = (result = inserted) => result !== 'refused' && resolve(result)
        sent.push({ one: taskId, end })
      }),
    insertMany: (tasks) =>
      new Promise((resolve) => {
        const end: Sent['end'] = (result) =>
          resolve(result === 'refused' ? result : { createdAtMs: 1 })
        sent.push({ many: tasks.map(({ taskId }) => taskId), end })
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

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('tasks of one account', () => {
  it('are inserted alone when they come alone, and together when they come during an insert', async () => {
    const { insert, sent, shapes } = openWorld()
    const first = insert(task('1'))
    await turn()
    const later = ['2', '3', '4'].map((id) => insert(task(id)))
    await turn()
    expect(shapes()).toEqual(['1'])
    sent[0]?.end({ kind: 'insufficient' })
    expect(await first).toEqual({ kind: 'insufficient' })
    expect(shapes()).toEqual(['1', ['2', '3', '4']])
    sent[1]?.end()
    expect(await Promise.all(later)).toEqual([inserted, inserted, inserted])
  })

  it('do not wait for those of other accounts, nor asynchronous ones for synchronous ones', async () => {
    const { insert, shapes } = openWorld()
    void insert(task('1'))
    void insert(task('2', { account: 'acct_b' }))
    void insert(task('3', { route: 'images.generations' }))
    await turn()
    expect(shapes()).toEqual(['1', '2', '3'])
  })

  it('are inserted alone when they have an upload or a long text', async () => {
    const { insert, shapes } = openWorld()
    void insert(task('1'))
    await turn()
    void insert(task('2', { uploadId: 'in-2' }))
    void insert(task('3', { requestText: Buffer.alloc(16 * 1024 + 1) }))
    void insert(task('4', { requestText: Buffer.alloc(16 * 1024) }))
    await turn()
    expect(shapes()).toEqual(['1', '2', '3'])
  })

  it('are inserted one by one when they were refused together, and for a second after', async () => {
    const { insert, sent, clock, shapes } = openWorld()
    const refused = [insert(task('1')), insert(task('2'))]
    await turn()
    // These two wait while the others are refused.
    const waiting = [insert(task('a')), insert(task('b'))]
    sent[0]?.end('refused')
    await turn()
    expect(shapes()).toEqual([['1', '2'], '1', '2', 'a', 'b'])
    clock.ms = 999
    const other = [insert(task('3', { account: 'acct_b' })), insert(task('4'))]
    const next = [insert(task('5')), insert(task('6'))]
    await turn()
    expect(shapes().slice(5)).toEqual(['4', '5', '6', '3'])
    sent[1]?.end({ kind: 'insufficient' })
    for (const { end } of sent.slice(2)) end()
    expect(await Promise.all(refused)).toEqual([{ kind: 'insufficient' }, inserted])
    await Promise.all([...waiting, ...other, ...next])
    clock.ms = 1_000
    void insert(task('7'))
    void insert(task('8'))
    await turn()
    expect(shapes().slice(9)).toEqual([['7', '8']])
  })
})
