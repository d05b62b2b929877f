import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import type { JsonPath } from '../../src/streams/intakeFailure.ts'
import { isFamilyAImage } from '../../src/upstream/familyA.ts'
import { isFamilyBImage } from '../../src/upstream/familyB.ts'
import { inMemoryBytesMax } from '../../src/upstream/keptImage.ts'
import { keptImagesMax, readModelAnswer } from '../../src/upstream/answerImages.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'
import { noisePng, redPixelPng } from '../support/images.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'
import { listen } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

async function largePng(): Promise<Buffer> {
  const png = await noisePng(1000, 900)
  expect(png.length).toBeGreaterThan(inMemoryBytesMax)
  return png
}

async function answering(answer: string): Promise<string> {
  return await listen((request, response) => {
    request.resume().on('end', () => response.end(answer))
  })
}

function answerWith(family: Family, images: readonly Buffer[]): object {
  const data = images.map((image) => image.toString('base64'))
  if (family === 'B') return { created: 1, data: data.map((text) => ({ b64_json: text })) }
  const parts = data.map((text) => ({ inlineData: { mimeType: 'image/png', data: text } }))
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
}

describe('images of an answer', () => {
  it.each([
    ['A', 1],
    ['B', 0],
  ] satisfies [Family, number][])(
    'of family %s are freed except the one in the outcome',
    async (family, chosen) => {
      const images = [await largePng(), await largePng()]
      const url = await answering(JSON.stringify(answerWith(family, images)))
      const { call, tempDir } = await openUpstreamWorld()
      const outcome = await call(url, family)
      if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
      expect(openFilesIn(tempDir)).toBe(1)
      const bytes = await collect(outcome.image.open())
      expect(images.map((image) => image.equals(bytes))).toEqual([0, 1].map((at) => at === chosen))
      await outcome.image.discard()
      expect(openFilesIn(tempDir)).toBe(0)
    },
  )

  it.each([
    ['A', isFamilyAImage, -1],
    ['B', isFamilyBImage, 0],
  ] satisfies [Family, (path: JsonPath) => boolean, number][])(
    'of family %s are held up to a limit, with the one that counts among them',
    async (family, isImage, counts) => {
      const tempDir = tempFolder()
      const marked = await noisePng(8, 8)
      const many = Array.from({ length: 3_000 }, () => redPixelPng)
      const images = counts === 0 ? [marked, ...many] : [...many, marked]
      const body = streamOf(cutAt(Buffer.from(JSON.stringify(answerWith(family, images))), [9, 99]))
      const read = await readModelAnswer(body, isImage, { tempDir, randomBytes })
      if (!read.ok) throw new Error(`not read: ${read.failure.reason}`)
      const held = read.value.images.filter(({ image }) => image !== undefined)
      expect(held).toHaveLength(keptImagesMax)
      expect(read.value.images).toHaveLength(images.length)
      expect(read.value.images.at(counts)?.image?.bytes).toBe(marked.length)
    },
  )

  it.each(['A', 'B'] satisfies Family[])(
    'of family %s are freed when the answer breaks off after them',
    async (family) => {
      const whole = JSON.stringify(answerWith(family, [await largePng()]))
      const url = await answering(whole.slice(0, -1))
      const { call, tempDir } = await openUpstreamWorld()
      expect(await call(url, family)).toMatchObject({ class: 'unknown' })
      expect(openFilesIn(tempDir)).toBe(0)
    },
  )

  it('are freed when the connection breaks in the middle of one', async () => {
    const whole = JSON.stringify(answerWith('B', [await largePng(), await largePng()]))
    const url = await listen((request, response) => {
      response.writeHead(200, { 'content-length': whole.length })
      response.write(whole.slice(0, -100_000), () => response.destroy())
      request.resume()
    })
    const { call, tempDir } = await openUpstreamWorld()
    expect(await call(url, 'B')).toMatchObject({ evidence: { reason: 'connection_lost' } })
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it.each(['A', 'B'] satisfies Family[])(
    'of family %s are not lost when the temporary directory cannot be written',
    async (family) => {
      const png = await largePng()
      const url = await answering(JSON.stringify(answerWith(family, [png])))
      const { call, tempDir } = await openUpstreamWorld()
      rmSync(tempDir, { recursive: true })
      writeFileSync(tempDir, 'a file')
      const outcome = await call(url, family)
      if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
      expect((await collect(outcome.image.open())).equals(png)).toBe(true)
    },
  )
})
