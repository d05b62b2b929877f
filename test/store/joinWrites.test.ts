import { DatabaseError } from 'pg'
import { describe, expect, it } from 'vitest'
import { NothingWrittenError } from '../../src/domain/ports/nothingWrittenError.ts'
import { apartWhenRefused, joinWrites } from '../../src/store/connection/joinWrites.ts'

type Statement = {
  readonly items: readonly string[]
  readonly end: (results?: readonly (string | Error)[]) => void
  readonly fail: (error: Error) => void
}

/** Writes whose key is their first letter. */
function openWorld() {
  const statements: Statement[] = []
  const write = joinWrites<string, string>(
    (item) => item.slice(0, 1),
    async (items) =>
      new Promise((resolve, reject) => {
        const end: Statement['end'] = (results = items) => resolve(results)
        statements.push({ items, end, fail: reject })
      }),
  )
  return { write, statements, sent: () => statements.map(({ items }) => items) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('joined writes', () => {
  it('are sent at once when nothing is under way, and otherwise with the next statement', async () => {
    const { write, statements, sent } = openWorld()
    const first = write('a1')
    await turn()
    expect(sent()).toEqual([['a1']])
    const second = [write('a2'), write('a3')]
    await turn()
    const third = write('a4')
    await turn()
    expect(sent()).toEqual([['a1']])
    statements[0]?.end()
    expect(await first).toBe('a1')
    expect(sent()).toEqual([['a1'], ['a2', 'a3', 'a4']])
    statements[1]?.end()
    expect(await Promise.all([...second, third])).toEqual(['a2', 'a3', 'a4'])
    const last = write('a5')
    await turn()
    statements[2]?.end()
    expect(await last).toBe('a5')
  })

  it('all fail when their statement fails; one fails when it gets an error as its result', async () => {
    const { write, statements } = openWorld()
    const failing = Promise.allSettled([write('a1'), write('a2')])
    await turn()
    const later = Promise.allSettled([write('a3'), write('a4')])
    await turn()
    statements[0]?.fail(new Error('connection lost'))
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await turn()
    statements[1]?.end([new Error('this one alone'), 'a4'])
    expect((await later).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

describe('a statement for several writes that fails', () => {
  const withCode = (code: string) =>
    Object.assign(new DatabaseError('said so', 0, 'error'), { code })
  const refusal = withCode('23505')

  function openRefusing(thrown: Error, alone: (item: string) => Error | undefined) {
    const sent: (readonly string[])[] = []
    const write = joinWrites<string, string>(
      () => 'key',
      apartWhenRefused(async (items) => {
        sent.push(items)
        const [item = ''] = items
        const found = items.length > 1 ? thrown : alone(item)
        if (found !== undefined) throw found
        return items
      }),
    )
    const ends = Promise.allSettled(['a', 'b', 'c'].map((item) => write(item)))
    return { sent, ends }
  }

  it.each([
    ['a constraint was violated', refusal],
    ['a value was not accepted', withCode('22P05')],
  ])('is repeated as one for each write when %s', async (_when, error) => {
    const { sent, ends } = openRefusing(error, (item) => (item === 'b' ? refusal : undefined))
    expect((await ends).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(sent).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']])
  })

  it.each([
    ['its connection was lost', new Error('Connection terminated unexpectedly')],
    ['its connection was ended by the server', withCode('57P01')],
    ['a pooler lost the server', withCode('08P01')],
    ['a lock was held for too long', new NothingWrittenError(withCode('55P03'))],
    ['it got no connection', new NothingWrittenError(new Error('timeout'))],
  ])('is not repeated when %s', async (_when, error) => {
    const { sent, ends } = openRefusing(error, () => undefined)
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(sent).toEqual([['a', 'b', 'c']])
  })
})
