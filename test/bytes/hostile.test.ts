import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { requestTextBytesMax } from '../../src/domain/limits.ts'
import { readParts } from '../../src/http/intake/formParts.ts'
import { readJson } from '../../src/bytes/readJson.ts'
import { formBody, formType } from '../support/clients/requestBodies.ts'

const mebibyte = 1024 * 1024
const image = '{"input_images":[{"data":"'
const largeImage = Buffer.alloc(15 * mebibyte, 'QUJD').toString('base64')

const most = 86 * mebibyte
const openLine = formBody([]).subarray(0, -4)
const longest = Buffer.alloc(requestTextBytesMax, 'ü')

/** A body of 86 MiB: `begin`, then `piece` repeated, then `end`. */
function bodyOf(begin: string, piece: string, end = ''): Buffer {
  const middle = Buffer.alloc(most, piece)
  return Buffer.concat([Buffer.from(begin), middle, Buffer.from(end)])
}

it.each([
  ['has too many values', 'arrays', () => bodyOf('[', '[],')],
  ['is nested too deeply', 'brackets', () => bodyOf('', '[')],
  ['is not valid JSON', 'quotes', () => bodyOf('[', '"')],
  ['contains the same field twice', 'members', () => bodyOf('{', '"a":1,')],
  ['body_too_large', 'escaped quotes in a text', () => bodyOf('["', '\\"')],
  ['body_too_large', 'escaped quotes in a key', () => bodyOf('{"', '\\"')],
  ['the data is not valid Base64', 'escaped quotes in an image', () => bodyOf(image, '\\"')],
  ['body_too_large', 'backslashes in a text', () => bodyOf('["', '\\', '"')],
  ['the data is not valid Base64', 'backslashes in an image', () => bodyOf(image, '\\', '"')],
  ['body_too_large', 'blanks', () => bodyOf('', ' ')],
  ['body_too_large', 'one text', () => bodyOf('["', 'x', '"]')],
  ['is not valid JSON', 'one image without an end', () => bodyOf(image, 'A')],
  ['it is larger than 20971520 bytes', 'one image', () => bodyOf(image, 'A', '"}]}')],
  ['it is larger than 20971520 bytes', 'one image in escapes', () => bodyOf(image, '\\/', '"}]}')],
  [
    'ok',
    'four large images',
    () => Buffer.from(`[${Array(4).fill(`{"data":"${largeImage}"}`).join(',')}]`),
  ],
])('%s is the answer, without a long turn, to a body of %s', async (why, _what, make) => {
  const longestMs = await longestTurnMs(make, async (body) => {
    const result = await readJson(body, {
      isImage: (path) => path.at(-1) === 'data',
      alphabet: 'standard',
    })
    expect(result.ok ? 'ok' : JSON.stringify(result.failure)).toContain(why)
  })
  expect(longestMs).toBeLessThan(50)
})

it.each([
  ['line ends', 'malformed', () => Buffer.concat([openLine, Buffer.alloc(most, '\r\n')])],
  ['one text', 'prompt', () => formBody([{ name: 'prompt', value: Buffer.alloc(most, 'x') }])],
  ['one text of 4 MiB', 'prompt', () => formBody([{ name: 'prompt', value: longest }])],
])('a form of %s is read without a long turn', async (_what, last, make) => {
  const boundary = formType.replace(/.*boundary=/, '')
  const longestMs = await longestTurnMs(make, async (body) => {
    let read: string | undefined
    for await (const part of readParts(body, boundary)) {
      read = part === 'malformed' ? part : part.head.name
    }
    expect(read).toBe(last)
  })
  expect(longestMs).toBeLessThan(50)
})

/**
 * The longest turn of the event loop while `work` reads a body, in CPU time, so that other processes do not count. The processor itself
 * is slower while other programs use its memory, so a long turn is measured again.
 */
async function longestTurnMs(make: () => Buffer, work: (body: Buffer) => Promise<void>) {
  let longestMs = Infinity
  for (let tries = 0; tries < 4 && longestMs >= 50; tries += 1) {
    const body = make()
    const watch = watchTurns()
    await work(body)
    longestMs = Math.min(longestMs, await watch.longestMs())
  }
  return longestMs
}

/** Watches how long the event loop does not come round, in CPU time, so that other processes do not count. */
function watchTurns() {
  const cpuMs = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  const watch = { lastMs: cpuMs(), longestMs: 0, ended: false }
  const look = () => {
    const nowMs = cpuMs()
    watch.longestMs = Math.max(watch.longestMs, nowMs - watch.lastMs)
    watch.lastMs = nowMs
    if (!watch.ended) setImmediate(look)
  }
  setImmediate(look)
  return {
    longestMs: async () => {
      await turn()
      watch.ended = true
      return watch.longestMs
    },
  }
}
