import type { OverlayOptions } from 'sharp'
import { withoutDirectives } from './directives.ts'
import type { ImageOrder } from './imageOrder.ts'
import { drawTiles } from './sourceTiles.ts'
import { drawText, type TextLayer } from './textLayer.ts'

/** From top to bottom: the prompt on a dark panel, the source images, a line that says what this is. */
export async function layOut(
  order: ImageOrder,
  width: number,
  height: number,
): Promise<OverlayOptions[]> {
  const margin = Math.round(Math.min(width, height) * 0.05)
  const side = Math.min(width, height)
  const inner = { width: width - 4 * margin, height: height - 4 * margin }
  const hasTiles = order.sources.length > 0
  const [text, tiles, footer] = await Promise.all([
    drawText(withoutDirectives(order.prompt).trim() || order.prompt, {
      width: inner.width,
      height: Math.round(inner.height * (hasTiles ? 0.42 : 0.66)),
      fontMax: Math.max(8, Math.round(side * 0.075)),
      fontMin: Math.max(7, Math.round(side * 0.026)),
    }),
    hasTiles ? drawTiles(order.sources, inner.width, Math.round(inner.height * 0.36)) : null,
    drawText(`simulated · ${order.model} · ${order.width}x${order.height}`, {
      width: inner.width,
      height: Math.round(side * 0.06),
      fontMax: Math.max(7, Math.round(side * 0.022)),
      fontMin: Math.max(6, Math.round(side * 0.012)),
    }),
  ])
  const overlays: OverlayOptions[] = []
  if (text !== null && fits(text, width - 4 * margin, height - 4 * margin)) {
    const panel = { width: text.width + 2 * margin, height: text.height + 2 * margin }
    overlays.push({ input: panelSvg(panel.width, panel.height), left: margin, top: margin })
    overlays.push({ input: text.png, left: 2 * margin, top: 2 * margin })
  }
  const footerTop = height - margin - (footer?.height ?? 0)
  if (tiles !== null) {
    overlays.push(...placeTiles(tiles, margin, footerTop - margin))
  }
  if (footer !== null && fits(footer, width - margin, footerTop))
    overlays.push({ input: footer.png, left: margin, top: footerTop })
  return overlays
}

/** A picture of a few pixels has no room for letters; sharp refuses overlays larger than the ground. */
function fits(layer: TextLayer, width: number, height: number): boolean {
  return layer.width <= width && layer.height <= height
}

function placeTiles(
  tiles: Awaited<ReturnType<typeof drawTiles>>,
  margin: number,
  bottom: number,
): OverlayOptions[] {
  let left = margin
  return tiles.map((tile) => {
    const overlay = { input: tile.png, left, top: bottom - tile.height }
    left += tile.width + Math.round(margin / 2)
    return overlay
  })
}

function panelSvg(width: number, height: number): Buffer {
  const radius = Math.round(Math.min(width, height) * 0.08)
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `<rect width="100%" height="100%" rx="${radius}" fill="#0a0f1e" fill-opacity=".55"/></svg>`,
  )
}
