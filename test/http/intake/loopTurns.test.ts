import { describe, expect, it } from 'vitest'
import { createLoopTurns } from '../../../src/http/intake/loopTurns.ts'
import { standStill } from '../../support/timing.ts'

describe('the turns of bodies', () => {
  it('go to the accounts in rotation, and end after a few milliseconds', async () => {
    const turns = createLoopTurns()
    const order: string[] = []
    async function read(name: string, accountId: string, chunks: number): Promise<void> {
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        await turns.pause(accountId)
        order.push(name)
        standStill(4)
      }
    }
    standStill(4)
    await Promise.all([
      read('first', 'many', 2),
      read('second', 'many', 2),
      read('third', 'many', 2),
      read('other', 'other', 2),
    ])
    expect(order.slice(0, 4)).toEqual(['first', 'other', 'second', 'other'])
  })

  it('let other work in between', async () => {
    const turns = createLoopTurns()
    const order: string[] = []
    standStill(4)
    const body = (async () => {
      for (let chunk = 0; chunk < 3; chunk += 1) {
        await turns.pause('many')
        order.push('chunk')
        standStill(4)
      }
    })()
    setImmediate(() => order.push('other work'))
    await body
    expect(order).toEqual(['chunk', 'other work', 'chunk', 'chunk'])
  })
})
