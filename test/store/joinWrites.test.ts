import { DatabaseError } from 'pg'
import { describe, expect, it } from 'vitest'
import { NothingWrittenError } from '../../src/domain/ports/nothingWrittenError.ts'
import { apartWhenRefused, joinWrites } from '../../src/store/connection/joinWrites.ts'

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
