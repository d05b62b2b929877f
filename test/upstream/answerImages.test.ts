import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Family } from '../../src/domain/models/models.ts'
import { isFamilyAImage } from '../../src/upstream/familyA.ts'
import { isFamilyBImage } from '../../src/upstream/familyB.ts'
import { inMemoryBytesMax } from '../../src/upstream/keptImage.ts'
import { keptImagesMax, readModelAnswer } from '../../src/upstream/answerImages.ts'
import { collect, cutAt, streamOf } from '../support/byteStreams.ts'
import { noisePng, redPixelPng } from '../support/images.ts'
import { openFilesIn, tempFolder } from '../support/tempFolder.ts'
import { listenAnswering } from '../support/upstream/testServers.ts'
import { openUpstreamWorld } from '../support/upstream/upstreamWorld.ts'

async function largePng(): Promise<Buffer> {
  const png = await noisePng(1000, 900)
  expect(png.length).toBeGreaterThan(inMemoryBytesMax)
  return png
}

async function answering(answer: string): Promise<string> {
  return (await listenAnswering((response) => response.end(answer))).url
}

function answerWith(family: Family, images: readonly Buffer[]): object {
  const data = images.map((image) => image.toString('base64'))
  if (family === 'B') return { created: 1, data: data.map((text) => ({ b64_json: text })) }
  const parts = data.map((text) => ({ inlineData: { mimeType: 'image/png', data: text } }))
  return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }
}

/** The image of an answer that counts: the last one of family A, the first one of family B. */
const chosen = { A: -1, B: 0 } as const

describe.each<Family>(['A', 'B'])('images of an answer of family %s', (family) => {
  it('are freed except the one in the outcome', async () => {
    const images = [await largePng(), await largePng()]
    const url = await answering(JSON.stringify(answerWith(family, images)))
    const { call, tempDir } = await openUpstreamWorld()
    const outcome = await call(url, family)
    if (outcome.class !== 'succeeded') throw new Error(`Not an image but ${outcome.class}`)
    expect(openFilesIn(tempDir)).toBe(1)
    const bytes = await collect(outcome.image.open())
    expect(images.at(chosen[family])?.equals(bytes)).toBe(true)
    await outcome.image.discard()
    expect(openFilesIn(tempDir)).toBe(0)
  })

  it('are held up to a limit, with the one that counts among them', async () => {
    const tempDir = tempFolder()
    const marked = await noisePng(8, 8)
    const many = Array.from({ length: 3_000 }, () => redPixelPng)
    const images = family === 'B' ? [marked, ...many] : [...many, marked]
    const body = streamOf(cutAt(Buffer.from(JSON.stringify(answerWith(family, images))), [9, 99]))
    const isImage = family === 'A' ? isFamilyAImage : isFamilyBImage
    const read = await readModelAnswer(body, isImage, { tempDir, randomBytes })
    if (!read.ok) throw new Error(`not read: ${read.failure.reason}`)
    const held = read.value.images.filter(({ image }) => image !== undefined)
    expect(held).toHaveLength(keptImagesMax)
    expect(read.value.images).toHaveLength(images.length)
    expect(read.value.images.at(chosen[family])?.image?.bytes).toBe(marked.length)
  })

  it('are freed when the answer breaks off after or in the middle of them', async () => {
    const whole = JSON.stringify(answerWith(family, [await largePng(), await largePng()]))
    for (const lost of [1, 100_000]) {
      const url = await answering(whole.slice(0, -lost))
      const { call, tempDir } = await openUpstreamWorld()
      expect(await call(url, family)).toMatchObject({ class: 'unknown' })
      expect(openFilesIn(tempDir)).toBe(0)
    }
  })
})
