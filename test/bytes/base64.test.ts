import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  base64Length,
  decodeBase64,
  decodeLenientBase64,
  encodeBase64,
} from '../../src/bytes/base64.ts'
import { collect, streamOf } from '../support/byteStreams.ts'

const strict = async (text: string, bytesMax = 1e9) => {
  const sent = Buffer.from(text)
  const decoded = await decodeBase64(sent, 'standard', bytesMax, sent)
  return decoded.ok ? decoded.value : decoded.failure
}
const lenient = (text: string, bytesMax = 1e9) => decodeLenientBase64(Buffer.from(text), bytesMax)

const mebibyte = 1024 * 1024

describe('strict base64', () => {
  it('returns any bytes, also with escapes', async () => {
    const escape = fc.func(fc.constantFrom('', '', '\\', 'u'))
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), escape, async (bytes, escape) => {
        const text = Buffer.from(bytes).toString('base64')
        const escaped = text.replaceAll(/./g, (letter, at: number) => {
          const code = letter.charCodeAt(0).toString(16).padStart(4, '0')
          const how = escape(at)
          return how === 'u' ? `\\u${code}` : how === '' || letter !== '/' ? letter : `\\${letter}`
        })
        expect(await strict(escaped)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it.each([
    ['white space', 'QUJD\\nQUJD'],
    ['a leading blank', ' QUJD'],
    ['the URL alphabet', '-_-_'],
    ['missing padding', 'QQ'],
    ['padding alone', '===='],
    ['padding in escapes, and text after it', 'QQ\\u003d=QUJD'],
    ['tail bits that are not zero', 'QR=='],
    ['tail bits that are not zero in a group of two bytes', 'QUJ='],
    ['text after padding', 'QQ==QUJD'],
    ['a data-URL prefix', 'data:image/png;base64,QUJD'],
    ['a letter whose low byte is in the alphabet', 'QUJ\u0141'],
    ['such a letter in escapes', 'QUJ\\u0141QUJD'],
    ['an escaped quote', 'QUJ\\"'],
  ])(
    'refuses %s, at the end, in the middle and far from the end [image-4]',
    async (_what, text) => {
      const rest = 'QUJD'.repeat(400_000)
      for (const whole of [
        text,
        `QUJD${text}`,
        `${text}QUJD`,
        `${rest}${text}`,
        `${text}${rest}`,
      ]) {
        expect([whole.length, await strict(whole)]).toEqual([whole.length, 'no_base64'])
      }
    },
  )

  it.each(['\\/', '\\u002B', 'A'])(
    'is decoded in slices of which none ends inside of %s',
    async (escape) => {
      const letter: unknown = JSON.parse(`"${escape}"`)
      for (let before = mebibyte - 8; before <= mebibyte + 1; before += 1) {
        const [head, tail] = ['A'.repeat(before), 'A'.repeat(mebibyte + 8 - (before % 4) - 1)]
        const expected = Buffer.from(`${head}${String(letter)}${tail}`, 'base64')
        const decoded = await strict(`${head}${escape}${tail}`)
        expect(Buffer.compare(Buffer.from(decoded), expected)).toBe(0)
      }
    },
  )

  it('is refused only above its limit, before it is decoded', async () => {
    expect(await strict('', 0)).toHaveLength(0)
    for (const bytes of [1, 2, 3, 3000]) {
      const text = Buffer.alloc(bytes, 7).toString('base64')
      expect(await strict(text, bytes)).toHaveLength(bytes)
      expect(await strict(text, bytes - 1)).toBe('too_large')
      expect(await strict(text.replace('B', '\\u0042'), bytes - 1)).toBe('too_large')
    }
    expect(await strict('*'.repeat(100), 10)).toBe('too_large')
  })
})

describe('lenient base64', () => {
  it('returns any bytes in either alphabet, with or without padding', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const standard = Buffer.from(bytes).toString('base64')
        const url = Buffer.from(bytes).toString('base64url')
        for (const text of [standard, url, standard.replaceAll('=', '')]) {
          expect(await lenient(text)).toEqual(Buffer.from(bytes))
        }
      }),
    )
  })

  it.each([
    ['a data-URL prefix', 'data:image/png;base64,QUJDRA=='],
    ['line breaks', 'QUJD\\r\\nRA==\\n'],
    ['letters that are none of it', 'QUéJD*RA=='],
    ['an escape that JSON does not have', 'QUJDRA\\'],
  ])('leaves out %s', async (_what, text) => {
    expect((await lenient(text))?.toString()).toBe('ABCD')
  })

  it('is refused above its limit', async () => {
    expect([await lenient('QUJDRA', 4), await lenient('QUJDRA', 3)]).toEqual([
      Buffer.from('ABCD'),
      undefined,
    ])
  })

  it.each([
    ['padding in the middle', `${'='.repeat(1_000_000)}x`],
    ['a data-URL prefix without an end', `data:${';base64'.repeat(150_000)}`],
  ])('takes time in proportion to the length of hostile text: %s', async (_what, text) => {
    const startedAtMs = performance.now()
    await lenient(text)
    expect(performance.now() - startedAtMs).toBeLessThan(2_000)
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
