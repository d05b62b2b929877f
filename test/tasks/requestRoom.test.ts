import { beforeEach, describe, expect, it } from 'vitest'
import type { RequestRoom, RequestRooms } from '../../src/tasks/requestRoom.ts'
import { createRequestRooms } from '../../src/tasks/requestRoom.ts'

const mebibyte = 1024 * 1024
let nowMs = 0
let rooms: RequestRooms
beforeEach(() => {
  nowMs = 0
  rooms = createRequestRooms({ bytesMax: 32 * mebibyte, monotonicMs: () => nowMs })
})

function needs(accountId: string, mebibytes: number) {
  return { kind: 'needs_room', accountId, bytes: mebibytes * mebibyte } as const
}

/** Takes room that `leave` gives back. */
async function enter(accountId: string, mebibytes: number) {
  const left = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<{ covered: boolean; room: RequestRoom }>()
  void rooms.during(async (room) => {
    entered.resolve({ covered: await room.cover(needs(accountId, mebibytes)), room })
    await left.promise
  })
  return { ...(await entered.promise), leave: left.resolve }
}

describe('the room for requests in a worker', () => {
  it('lets one account have half of it, and always fits the largest request of another', async () => {
    const first = await enter('many', 16)
    const second = await enter('many', 16)
    const other = await enter('other', 16)
    expect([first.covered, second.covered, other.covered]).toEqual([true, false, true])
    expect(first.room.bytesMax()).toBe(16 * mebibyte)
    expect(second.room.bytesMax()).toBe(256 * 1024)
  })

  it('is free again when the request is sent, and when the work ends', async () => {
    const sent = await enter('many', 16)
    sent.room.end()
    const second = await enter('many', 16)
    expect(second.covered).toBe(true)
    second.leave()
    sent.leave()
    await Promise.resolve()
    expect((await enter('many', 16)).covered).toBe(true)
  })
})
