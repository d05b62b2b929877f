import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBase64Decoder } from '../../src/streams/base64.ts'
import { decodePieces } from '../support/byteStreams.ts'

const decode = (pieces: readonly string[]) => decodePieces(createBase64Decoder(), pieces)

describe('strict base64', () => {
  it('gives back any bytes, however their text is cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(300)), (bytes, cuts) => {
        const text = Buffer.from(bytes).toString('base64')
        const places = [0, ...cuts.filter((cut) => cut < text.length), text.length].toSorted(
          (a, b) => a - b,
        )
        const pieces = places.slice(1).map((end, i) => text.slice(places[i], end))
        expect(decode(pieces)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it.each([
    ['whitespace', 'QUJD\nQUJD'],
    ['a leading blank', ' QUJD'],
    ['the URL alphabet', '-_-_'],
    ['missing padding', 'QQ'],
    ['short padding', 'QQ='],
    ['padding alone', '===='],
    ['too much padding', 'QUI=='],
    ['tail bits that are not zero', 'QR=='],
    ['tail bits that are not zero in a group of two bytes', 'QUJ='],
    ['text after padding', 'QQ==QUJD'],
    ['a data-URL prefix', 'data:image/png;base64,QUJD'],
    ['letters beyond ASCII', 'QUJé'],
    ['a letter whose low byte is in the alphabet', 'QUJ\u0141'],
    ['NUL', 'QUJ\0'],
  ])('refuses %s, whole or in single letters', (_what, text) => {
    expect(decode([text])).toBeUndefined()
    expect(decode(text.split(''))).toBeUndefined()
  })

  it('takes empty text as no bytes', () => {
    expect(decode([])).toEqual(Buffer.alloc(0))
    expect(decode([''])).toEqual(Buffer.alloc(0))
  })
})
