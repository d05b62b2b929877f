import { randomFillSync } from 'node:crypto'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Simulator } from '../../../src/dev/simulator/server.ts'
import { startSimulator } from '../../../src/dev/simulator/server.ts'
import { blobOf, bodyA, callA, editB } from './vendorCalls.ts'

const images = 16
const side = 1180
let simulator: Simulator
let image: Buffer

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, latency: 0, image: 'drawn' })
  const noise = randomFillSync(Buffer.alloc(side * side * 3))
  image = await sharp(noise, { raw: { width: side, height: side, channels: 3 } })
    .png({ compressionLevel: 0 })
    .toBuffer()
})
afterAll(() => simulator.close())

describe('sixteen source images of 64 MiB in all', () => {
  it('are accepted as a form of family B, with a prompt of 3 MB', async () => {
    expect(image.length * images).toBeGreaterThan(63 * 1024 * 1024)
    const fields = { model: 'familyb-image-2-vip', prompt: 'words '.repeat(500_000) }
    const sources = Array.from({ length: images }, () => blobOf(image))
    expect((await editB(simulator, fields, sources)).status).toBe(200)
    const [call] = simulator.calls({ family: 'B' })
    expect(call?.images.map(({ bytes }) => bytes)).toEqual(Array(images).fill(image.length))
  })

  it('are accepted inline in family A', async () => {
    const sources = Array.from({ length: images }, () => image)
    expect((await callA(simulator, bodyA('x', sources))).status).toBe(200)
    const [call] = simulator.calls({ family: 'A' })
    expect(new Set(call?.images.map(({ sha256 }) => sha256)).size).toBe(1)
    expect(call?.images).toHaveLength(images)
  })
})
