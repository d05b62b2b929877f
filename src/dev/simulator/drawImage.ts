import { createHash } from 'node:crypto'
import sharp, { type Sharp } from 'sharp'
import { assertNever } from '../../domain/assertNever.ts'
import { backgroundCount, createBackgrounds } from './backgrounds.ts'
import type { ImageFormat, ImageOrder } from './imageOrder.ts'
import { layOut } from './layOut.ts'
import { useOnlyOwnFont } from './textLayer.ts'

/**
 * What the simulator makes of an order. `drawn`: the prompt on a landscape, with the first sources,
 * at the asked size. `{ scale }`: the same, its sides multiplied. `tiny`: 16x16 pixels of a colour
 * which the request decides, for tests that make hundreds. A buffer: just these bytes.
 */
export type ImageMode = 'drawn' | 'tiny' | { readonly scale: number } | Buffer

export type DrawImage = (
  order: ImageOrder,
  index: number,
  format?: ImageFormat,
) => Promise<Uint8Array>

const tinySide = 16
const drawsAtOnceMax = 4

/** The same order and index give the same bytes. Never more than four drawn at once, to spare memory. */
export function createDrawImage(mode: ImageMode): DrawImage {
  useOnlyOwnFont()
  const backgrounds = createBackgrounds()
  const waiting: (() => void)[] = []
  let drawing = 0
  const draw: DrawImage = async (order, index, format = order.format) => {
    const seed = seedOf(order, index)
    if (mode === 'tiny') return drawTiny(seed, format)
    const scale = typeof mode === 'object' && 'scale' in mode ? mode.scale : 1
    const scaled = (side: number): number => Math.max(tinySide, Math.round(side * scale))
    const size = { width: scaled(order.width), height: scaled(order.height) }
    const background = await backgrounds(size, seed.readUInt16BE(0) % backgroundCount)
    const overlays = await layOut(order, size.width, size.height)
    const picture = sharp(background.rgb, { raw: { ...size, channels: 3 } })
    return encode(picture.composite(overlays).removeAlpha(), format, compressionOf(order))
  }
  return async (...order) => {
    if (Buffer.isBuffer(mode)) return mode
    if (drawing >= drawsAtOnceMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else drawing += 1
    try {
      return await draw(...order)
    } finally {
      const next = waiting.shift()
      if (next === undefined) drawing -= 1
      else next()
    }
  }
}

function seedOf(order: ImageOrder, index: number): Buffer {
  const { action, model, prompt, sources, width, height } = order
  const digests = sources.map(({ sha256 }) => sha256)
  const own = order.family === 'A' ? order.seed : order.quality
  const parts = [action, model, prompt, digests, width, height, own, index]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function drawTiny(seed: Buffer, format: ImageFormat): Promise<Buffer> {
  const [r = 0, g = 0, b = 0] = seed
  const picture = sharp({
    create: { width: tinySide, height: tinySide, channels: 3, background: { r, g, b } },
  })
  return encode(picture, format, 90)
}

function encode(picture: Sharp, format: ImageFormat, quality: number): Promise<Buffer> {
  switch (format) {
    case 'png':
      return picture.png({ compressionLevel: 2 }).toBuffer()
    case 'jpeg':
      return picture.jpeg({ quality: Math.max(1, quality) }).toBuffer()
    case 'webp':
      return picture.webp({ quality: Math.max(1, quality), effort: 0 }).toBuffer()
    default:
      return assertNever(format)
  }
}

function compressionOf(order: ImageOrder): number {
  return order.family === 'B' ? order.compression : 90
}
