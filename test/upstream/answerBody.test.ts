import { array, check, asyncProperty, jsonValue, nat, oneof, string, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstDocument } from '../../src/upstream/answerBody.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'

const whole = Buffer.from('{"a":["}\\"]",{"b":"\\\\"}],"c":"ü"}')

describe('the first document of an answer', () => {
  it('ends where its object or array ends, whatever follows and however it is cut', async () => {
    const document = jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify({ value }))
    const nested = document.map((text) => `[${text},"]",[]]`)
    const rest = oneof(string(), document).map((text) => Buffer.from(text))
    const ends = asyncProperty(
      oneof(document, nested).map((text) => Buffer.from(text)),
      oneof(rest, uint8Array()),
      array(nat(200), { maxLength: 5 }),
      async (document, rest, places) => {
        const chunks = cutAt(Buffer.concat([document, rest]), places)
        return (await collect(firstDocument(streamOf(chunks)))).equals(document)
      },
    )
    expect((await check(ends, { numRuns: 500 })).failed).toBe(false)
  })

  it('is the whole text when it does not end or is not JSON', async () => {
    for (const text of ['', 'null', '<html>', '"{}"', '{"a":{}', '{"a":"}', '{"a":"\\"}']) {
      const chunks = cutAt(Buffer.from(text), [3, 6])
      expect((await collect(firstDocument(streamOf(chunks)))).toString()).toBe(text)
    }
  })

  it('does not wait for the end of a source that has none', async () => {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield whole
      await new Promise(() => {})
    }
    expect(await collect(firstDocument(source()))).toEqual(whole)
  })

  it('is complete when the source fails after it, and fails when the source fails before its end', async () => {
    const failingAfter = async function* (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
      yield bytes
      throw new Error('broke off')
    }
    expect(await collect(firstDocument(failingAfter(whole)))).toEqual(whole)
    const cut = failingAfter(whole.subarray(0, -1))
    await expect(collect(firstDocument(cut))).rejects.toThrow('broke off')
  })

  it('closes its source at once and reads nothing after the document', async () => {
    const seen: string[] = []
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield whole
        seen.push('asked for more')
        yield Buffer.from('\n')
      } finally {
        seen.push('let go')
      }
    }
    await collect(firstDocument(source()))
    for await (const _ of firstDocument(source())) break
    expect(seen).toEqual(['let go', 'let go'])
  })
})
