import sharp from 'sharp'
import { drawnSourcesMax, type SourceImage } from './imageOrder.ts'

export type Tile = { readonly png: Buffer; readonly width: number; readonly height: number }

const frameShare = 0.03

/** Thumbnails of the first sources, framed, side by side within `width`, none higher than `height`. */
export async function drawTiles(
  sources: readonly SourceImage[],
  width: number,
  height: number,
): Promise<Tile[]> {
  const shown = sources.slice(0, drawnSourcesMax)
  const gap = Math.round(width * 0.02)
  const tileWidth = Math.floor((width - gap * (shown.length - 1)) / shown.length)
  return Promise.all(shown.map((source) => drawTile(source, tileWidth, height)))
}

async function drawTile(source: SourceImage, width: number, height: number): Promise<Tile> {
  const frame = Math.max(1, Math.round(Math.min(width, height) * frameShare))
  const inner = { width: Math.max(1, width - 2 * frame), height: Math.max(1, height - 2 * frame) }
  const thumbnail = await sharp(source.bytes ?? Buffer.alloc(0), { limitInputPixels: 200_000_000 })
    .rotate()
    .resize({ ...inner, fit: 'inside' })
    .flatten({ background: '#ffffff' })
    .png({ compressionLevel: 1 })
    .toBuffer()
    .catch(() => greyTile(inner))
  const { data, info } = await sharp(thumbnail)
    .extend({ top: frame, bottom: frame, left: frame, right: frame, background: '#ffffff' })
    .png({ compressionLevel: 1 })
    .toBuffer({ resolveWithObject: true })
  return { png: data, width: info.width, height: info.height }
}

/** In place of a source that cannot be decoded: tests send images that are only just images. */
function greyTile(size: { width: number; height: number }): Promise<Buffer> {
  const side = Math.min(size.width, size.height)
  return sharp({ create: { width: side, height: side, channels: 3, background: '#8a8a8a' } })
    .png()
    .toBuffer()
}
