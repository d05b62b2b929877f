import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Base64Decoder } from '../../src/streams/base64.ts'
import {
  base64Length,
  createBase64Decoder,
  createLenientBase64Decoder,
  encodeBase64,
} from '../../src/streams/base64.ts'
import { collect, streamOf } from '../support/byteStreams.ts'

function decodeStrict(pieces: readonly string[]): Buffer | undefined {
  return decode(createBase64Decoder(), pieces)
}

function decodeLenient(pieces: readonly string[]): Buffer | undefined {
  return decode(createLenientBase64Decoder(), pieces)
}

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

describe('strict base64', () => {
  it('returns any bytes, however their text is cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(300)), (bytes, cuts) => {
        const text = Buffer.from(bytes).toString('base64')
        const places = [0, ...cuts.filter((cut) => cut < text.length), text.length].toSorted(
          (a, b) => a - b,
        )
        const pieces = places.slice(1).map((end, i) => text.slice(places[i], end))
        expect(decodeStrict(pieces)).toEqual(Buffer.from(bytes))
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
    expect(decodeStrict([text])).toBeUndefined()
    expect(decodeStrict(text.split(''))).toBeUndefined()
  })

  it('decodes empty text to no bytes', () => {
    expect(decodeStrict([])).toEqual(Buffer.alloc(0))
    expect(decodeStrict([''])).toEqual(Buffer.alloc(0))
  })
})

describe('lenient base64', () => {
  it('returns any bytes in either alphabet, with or without padding, letter by letter', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const standard = Buffer.from(bytes).toString('base64')
        const url = Buffer.from(bytes).toString('base64url')
        for (const text of [standard, url, standard.replaceAll('=', '')]) {
          expect(decodeLenient([text])).toEqual(Buffer.from(bytes))
          expect(decodeLenient(text.split(''))).toEqual(Buffer.from(bytes))
        }
      }),
    )
  })

  it.each([
    ['a data-URL prefix', 'data:image/png;base64,QUJDRA=='],
    ['a data-URL prefix with parameters', ' data:image/png;charset=utf-8;BASE64,QUJDRA=='],
    ['line breaks', 'QUJD\r\nRA==\n'],
    ['a break in the padding', 'QUJDRA=\n='],
  ])('accepts %s', (_what, text) => {
    expect(decodeLenient([text])?.toString()).toBe('ABCD')
  })

  it.each([
    ['another data URL', 'data:image/png,QUJD'],
    ['text after padding', 'QQ==QUJD'],
    ['a single letter at the end', 'QUJDR'],
    ['letters beyond ASCII', 'QUJé'],
    ['prose', 'no image today!'],
  ])('refuses %s', (_what, text) => {
    expect(decodeLenient([text])).toBeUndefined()
  })
})

describe.each([
  ['strict', createBase64Decoder],
  ['lenient', createLenientBase64Decoder],
])('the short way of %s base64 for letters', (_name, createDecoder) => {
  const piece = fc.string({
    unit: fc.constantFrom(
      'Q',
      'U',
      'z',
      '9',
      '+',
      '/',
      '-',
      '_',
      '=',
      ' ',
      '\n',
      'é',
      '\u0141',
      '\u2005',
    ),
    maxLength: 9,
  })

  it('decodes with `pushLetters` what `push` decodes, and changes nothing when it refuses', () => {
    let letters = 0
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const decoder = createDecoder()
        const push = (text: string) => {
          const bytes = decoder.pushLetters(text)
          if (bytes !== undefined && text !== '') letters += 1
          return bytes ?? decoder.push(text)
        }
        const [short, long] = [
          decode({ ...decoder, push }, pieces),
          decode(createDecoder(), pieces),
        ]
        expect(short).toEqual(long)
      }),
      { numRuns: 2_000 },
    )
    expect(letters).toBeGreaterThan(100)
  })
})

describe('lenient base64 of hostile text', () => {
  it.each([
    ['padding in the middle', `${'='.repeat(1_000_000)}x`],
    ['a data-URL prefix without an end', `data:${';base64'.repeat(150_000)}`],
    ['white space around letters', `${'  A'.repeat(300_000)} `],
  ])('takes time in proportion to its length: %s', (_what, text) => {
    const startedAtMs = performance.now()
    decodeLenient([text])
    expect(performance.now() - startedAtMs).toBeLessThan(2_000)
  })
})

describe('base64 encoding', () => {
  it('encodes chunks to the text that Buffer writes for all bytes at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 })), async (chunks) => {
        const encoded = await collect(encodeBase64(streamOf(chunks)))
        const whole = Buffer.concat(chunks)
        expect(encoded.toString('latin1')).toBe(whole.toString('base64'))
        expect(encoded.length).toBe(base64Length(whole.length))
      }),
    )
  })
})
