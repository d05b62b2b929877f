import { expect, it } from 'vitest'
import {
  inputImageBytesMax,
  inputImagesBytesMax,
  inputImagesMax,
  jsonDepthMax,
  jsonTokensMax,
  requestTextBytesMax,
} from '../../src/domain/limits.ts'
import { readJsonDocument } from '../../src/streams/json/readJsonDocument.ts'

const mebibyte = 1024 * 1024

/** A body of 64 MiB: `start`, then `piece` repeated. The whole body is never in memory. */
async function* bodyOf(start: string, piece: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(start)
  const chunk = Buffer.from(piece.repeat(Math.ceil((64 * 1024) / piece.length)))
  for (let bytes = 0; bytes < 64 * mebibyte; bytes += chunk.length) yield chunk
}

it.each([
  ['one image', '{"input_images":[{"data":"', 'QUJD'],
  ['one image in escapes', '{"input_images":[{"data":"', '\\u0051\\/'],
  ['one text', '{"prompt":"', 'x'],
  ['one text in escapes', '{"prompt":"', '\\u0416'],
  ['one key', '{"', 'x'],
  ['one number', '{"n":', '1'],
  ['brackets', '', '['],
  ['many keys', '{', '"a":1,'],
  ['many items', '[', '{},'],
  ['many images', '{"input_images":[', '{"data":"QUJD"},'],
  ['blanks', '', ' '],
])('memory stays flat when a body of 64 MiB is made of %s', async (_what, start, piece) => {
  const before = process.memoryUsage.rss()
  let peak = before
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bodyOf(start, piece)) {
      peak = Math.max(peak, process.memoryUsage.rss())
      yield chunk
    }
  }
  const result = await readJsonDocument(watched(), {
    divert: (path) => path.at(-1) === 'data',
    take: async (content) => {
      let bytes = 0
      for await (const chunk of content) bytes += chunk.length
      return bytes
    },
    depthMax: jsonDepthMax,
    tokensMax: jsonTokensMax,
    textBytesMax: requestTextBytesMax,
    unstorableText: 'refuse',
    equalKeys: 'refuse',
    divertedBytesMax: inputImageBytesMax,
    divertedTotalBytesMax: inputImagesBytesMax,
    divertedCountMax: inputImagesMax,
  })
  expect(result.ok).toBe(false)
  // Two copies of 16 MiB of text at two bytes per character, and what the collector has not freed yet.
  expect((peak - before) / mebibyte).toBeLessThan(130)
})
