import { array, assert, asyncProperty, jsonValue, nat, oneof, string, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstDocument } from '../../src/upstream/answerBody.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'

describe('the first document of an answer', () => {
  it('ends where its object or array ends, whatever follows and however it is cut', async () => {
    const document = jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify({ value }))
    const nested = document.map((text) => `[${text},"]",[]]`)
    const rest = oneof(string(), document).map((text) => Buffer.from(text))
    await assert(
      asyncProperty(
        oneof(document, nested).map((text) => Buffer.from(text)),
        oneof(rest, uint8Array()),
        array(nat(200), { maxLength: 5 }),
        async (whole, rest, places) => {
          const chunks = cutAt(Buffer.concat([whole, rest]), places)
          return (await collect(firstDocument(streamOf(chunks)))).equals(whole)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is the whole text when it does not end or is not JSON', async () => {
    for (const text of ['', 'null', '<html>', '"{}"', '{"a":{}', '{"a":"}', '{"a":"\\"}']) {
      const chunks = cutAt(Buffer.from(text), [3, 6])
      expect((await collect(firstDocument(streamOf(chunks)))).toString()).toBe(text)
    }
  })

  it('closes its source at once and reads nothing after the document', async () => {
    const seen: string[] = []
    const source = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from('{"a":["}\\"]",{"b":"\\\\"}],"c":"ü"}')
        seen.push('asked for more')
      } finally {
        seen.push('let go')
      }
    }
    await collect(firstDocument(source()))
    for await (const _ of firstDocument(source())) break
    expect(seen).toEqual(['let go', 'let go'])
  })
})
