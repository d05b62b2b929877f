import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Base64Decoder } from '../../src/streams/base64.ts'
import {
  base64Length,
  createBase64Decoder,
  createLenientBase64Decoder,
  encodeBase64,
} from '../../src/streams/base64.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'

/** Returns the bytes of all pieces, or `undefined` when the decoder refuses one. */
function decode(decoder: Base64Decoder, pieces: readonly string[]): Buffer | undefined {
  const chunks: Uint8Array[] = []
  for (const piece of pieces) {
    const chunk = decoder.push(piece)
    if (chunk === undefined) return undefined
    chunks.push(chunk)
  }
  const last = decoder.end()
  return last === undefined ? undefined : Buffer.concat([...chunks, last])
}

const strict = (...pieces: string[]) => decode(createBase64Decoder(), pieces)
const lenient = (...pieces: string[]) => decode(createLenientBase64Decoder(), pieces)

const anyBytes = fc.uint8Array({ maxLength: 200 })

describe('strict base64', () => {
  it('returns any bytes, however their text is cut', () => {
    fc.assert(
      fc.property(anyBytes, fc.array(fc.nat(300)), (bytes, cuts) => {
        const text = Buffer.from(Buffer.from(bytes).toString('base64'))
        const pieces = cutAt(text, cuts).map((piece) => Buffer.from(piece).toString())
        expect(strict(...pieces)).toEqual(Buffer.from(bytes))
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
  ])('refuses %s, whole or in single letters [image-4]', (_what, text) => {
    expect([strict(text), strict(...text.split(''))]).toEqual([undefined, undefined])
  })
})

describe('lenient base64', () => {
  it('returns any bytes in either alphabet, with or without padding, letter by letter', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const standard = Buffer.from(bytes).toString('base64')
        const url = Buffer.from(bytes).toString('base64url')
        for (const text of [standard, url, standard.replaceAll('=', '')]) {
          expect(lenient(text)).toEqual(Buffer.from(bytes))
          expect(lenient(...text.split(''))).toEqual(Buffer.from(bytes))
        }
      }),
    )
  })

  it.each([
    ['accepts', 'a data-URL prefix', 'data:image/png;base64,QUJDRA=='],
    ['accepts', 'a prefix with parameters', ' data:image/png;charset=utf-8;BASE64,QUJDRA=='],
    ['accepts', 'line breaks', 'QUJD\r\nRA==\n'],
    ['accepts', 'a break in the padding', 'QUJDRA=\n='],
    ['refuses', 'another data URL', 'data:image/png,QUJD'],
    ['refuses', 'text after padding', 'QQ==QUJD'],
    ['refuses', 'a single letter at the end', 'QUJDR'],
    ['refuses', 'letters beyond ASCII', 'QUJé'],
    ['refuses', 'prose', 'no image today!'],
  ])('%s %s', (verb, _what, text) => {
    expect(lenient(text)?.toString()).toBe(verb === 'accepts' ? 'ABCD' : undefined)
  })

  it.each([
    ['padding in the middle', `${'='.repeat(1_000_000)}x`],
    ['a data-URL prefix without an end', `data:${';base64'.repeat(150_000)}`],
    ['white space around letters', `${'  A'.repeat(300_000)} `],
  ])('takes time in proportion to the length of hostile text: %s', (_what, text) => {
    const startedAtMs = performance.now()
    lenient(text)
    expect(performance.now() - startedAtMs).toBeLessThan(2_000)
  })
})

describe('the short way for letters', () => {
  const unit = fc.constantFrom(...'QUz9+/-_= \né\u0141\u2005'.split(''))
  const pieces = fc.array(fc.string({ unit, maxLength: 9 }), { maxLength: 6 })

  it.each([
    ['strict', createBase64Decoder],
    ['lenient', createLenientBase64Decoder],
  ])('decodes what the long way of %s base64 decodes', (_name, createDecoder) => {
    let letters = 0
    fc.assert(
      fc.property(pieces, (texts) => {
        const decoder = createDecoder()
        const push = (text: string) => {
          const bytes = decoder.pushLetters(text)
          if (bytes !== undefined && text !== '') letters += 1
          return bytes ?? decoder.push(text)
        }
        expect(decode({ ...decoder, push }, texts)).toEqual(decode(createDecoder(), texts))
      }),
      { numRuns: 2_000 },
    )
    expect(letters).toBeGreaterThan(100)
  })
})

it('base64 encoding of chunks is the text that Buffer writes for all bytes at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 })), async (chunks) => {
      const encoded = await collect(encodeBase64(streamOf(chunks)))
      const whole = Buffer.concat(chunks)
      expect(encoded.toString('latin1')).toBe(whole.toString('base64'))
      expect(encoded.length).toBe(base64Length(whole.length))
    }),
  )
})
