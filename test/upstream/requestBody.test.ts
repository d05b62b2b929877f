import { describe, expect, it } from 'vitest'
import { requestBody } from '../../src/upstream/requestBody.ts'
import { collect } from '../support/byteStreams.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'

const blobs = createMemoryBlobs()

describe('the body of an upstream request', () => {
  it('says when it is sent, also when the sending stops early', async () => {
    const ends: string[] = []
    const pieces = [{ kind: 'text', text: 'a'.repeat(200_000) }] as const
    const whole = requestBody('text/plain', pieces, blobs, () => ends.push('whole'))
    await collect(whole.open())
    const cut = requestBody('text/plain', pieces, blobs, () => ends.push('cut'))
    for await (const _ of cut.open()) break
    expect(ends).toEqual(['whole', 'cut'])
  })

  it('keeps nothing of what it has sent', async () => {
    const body = requestBody('text/plain', [{ kind: 'text', text: 'once' }], blobs)
    expect((await collect(body.open())).toString()).toBe('once')
    expect((await collect(body.open())).length).toBe(0)
  })
})
