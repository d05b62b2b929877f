import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { base64Length, encodeBase64 } from '../../src/streams/base64.ts'
import { collect, streamOf } from '../support/byteStreams.ts'

it('encodes any bytes in any chunks as Buffer would in one piece', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 })), async (chunks) => {
      const encoded = await collect(encodeBase64(streamOf(chunks)))
      const whole = Buffer.concat(chunks)
      expect(encoded.toString('latin1')).toBe(whole.toString('base64'))
      expect(encoded.length).toBe(base64Length(whole.length))
    }),
  )
})
