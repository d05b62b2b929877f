import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createForgivingBase64Decoder } from '../../src/streams/base64.ts'
import { decodePieces } from '../support/byteStreams.ts'

const decode = (pieces: readonly string[]) => decodePieces(createForgivingBase64Decoder(), pieces)

describe('forgiving base64', () => {
  it('gives back any bytes in either alphabet, with or without padding, letter by letter', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const standard = Buffer.from(bytes).toString('base64')
        const url = Buffer.from(bytes).toString('base64url')
        for (const text of [standard, url, standard.replaceAll('=', '')]) {
          expect(decode([text])).toEqual(Buffer.from(bytes))
          expect(decode(text.split(''))).toEqual(Buffer.from(bytes))
        }
      }),
    )
  })

  it.each([
    ['a data-URL prefix', 'data:image/png;base64,QUJDRA=='],
    ['a data-URL prefix with parameters', ' data:image/png;charset=utf-8;BASE64,QUJDRA=='],
    ['line breaks', 'QUJD\r\nRA==\n'],
    ['a break in the padding', 'QUJDRA=\n='],
  ])('forgives %s', (_what, text) => {
    expect(decode([text])?.toString()).toBe('ABCD')
  })

  it.each([
    ['another data URL', 'data:image/png,QUJD'],
    ['text after padding', 'QQ==QUJD'],
    ['a single letter at the end', 'QUJDR'],
    ['letters beyond ASCII', 'QUJé'],
    ['prose', 'no image today!'],
  ])('does not forgive %s', (_what, text) => {
    expect(decode([text])).toBeUndefined()
  })
})
