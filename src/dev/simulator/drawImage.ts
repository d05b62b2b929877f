import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { OverlayOptions, Sharp } from 'sharp'
import sharp from 'sharp'
import { withoutDirectives } from './directives.ts'
import type { Fault } from './faults.ts'
import type { ImageFormat, ImageOrder } from './order.ts'

/**
 * What the simulator sends as an image. `drawn`: a picture of the readable prompt, in the size that was asked
 * for. `tiny`: 16x16 pixels in a colour that depends on the request, for tests that make hundreds of images.
 * A buffer: exactly these bytes.
 */
export type ImageMode = 'drawn' | 'tiny' | Buffer

/** An image in an answer. `data` is base64, except when a fault damages it. */
export type EncodedImage = { readonly mimeType: string; readonly data: string }

/** Makes the images of an answer, and damages them if the fault asks for that. */
export async function makeImages(
  mode: ImageMode,
  order: ImageOrder,
  count: number,
  fault: Fault | undefined,
): Promise<readonly EncodedImage[]> {
  const format = fault?.kind === 'wrong-mime' ? fault.as : order.format
  const images: EncodedImage[] = []
  for (let index = 0; index < count; index += 1) {
    const bytes = await drawImage(mode, order, index, format)
    images.push({ mimeType: `image/${order.format}`, data: dataOf(bytes, fault) })
  }
  return images
}

function dataOf(bytes: Buffer, fault: Fault | undefined): string {
  const data = bytes.toString('base64')
  const middle = Math.floor(data.length / 2)
  if (fault?.kind === 'bad-base64') return `${data.slice(0, middle)}*!*${data.slice(middle)}`
  if (fault?.kind === 'cut-image') {
    return bytes.subarray(0, Math.floor(bytes.length / 2)).toString('base64')
  }
  if (fault?.kind !== 'not-image') return data
  return Buffer.from('The simulator was asked for bytes that are no image.').toString('base64')
}

/** Makes one image. The same mode, order, index and format always give the same bytes. */
export async function drawImage(
  mode: ImageMode,
  order: ImageOrder,
  index: number,
  format: ImageFormat = order.format,
): Promise<Buffer> {
  if (Buffer.isBuffer(mode)) return mode
  const seed = seedOf(order, index)
  const quality = order.family === 'B' ? order.compression : 90
  return mode === 'tiny'
    ? encode(colourOf(seed), format, quality)
    : drawPrompt(order, seed, (picture) => encode(picture, format, quality))
}

/**
 * Returns the seed of one image of an answer. Two seeds differ when the action, model, prompt, source images
 * or size differ, or the request's own `seed` (family A) or `quality` (family B), or the index of the image
 * in the answer.
 */
function seedOf(order: ImageOrder, index: number): Buffer {
  const { action, model, prompt, sources, width, height } = order
  const digests = sources.map(({ sha256 }) => sha256)
  const own = order.family === 'A' ? order.seed : order.quality
  const parts = [action, model, prompt, digests, width, height, own, index]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function colourOf([r = 0, g = 0, b = 0]: Buffer): Sharp {
  return sharp({ create: { width: 16, height: 16, channels: 3, background: { r, g, b } } })
}

const sourcePixelsMax = 200_000_000

/** Draws the prompt on the first source image. When there is no source, draws it on a landscape. */
async function drawPrompt(
  order: ImageOrder,
  seed: Buffer,
  finish: (picture: Sharp) => Promise<Buffer>,
): Promise<Buffer> {
  const { width, height, sources } = order
  const overlays = [lettersOf(order, seed)]
  const ground = sharp(Buffer.from(sceneSvg(order, seed)))
  const onGround = (): Promise<Buffer> => finish(ground.composite(overlays))
  const bytes = sources[0]?.content
  if (bytes === undefined) return onGround()
  const source = sharp(bytes, { limitInputPixels: sourcePixelsMax })
    .autoOrient()
    .resize({ width, height, fit: 'cover' })
    .flatten({ background: '#ffffff' })
  // Tests send sources of which only the first bytes are an image. The vendor's model would fail for them in
  // its own way. The simulator accepts them and draws on a landscape.
  return finish(source.composite(overlays)).catch(onGround)
}

/**
 * Limit for the characters of the prompt in the picture. The letters of a longer text would be too small to
 * read.
 */
const charactersMax = 600

/**
 * Returns the prompt and a line about the image, in white, as large as possible. An edit writes at the
 * bottom, so that the text in a generated source image stays visible. The font comes from a
 * package, because a machine may have no fonts.
 */
function lettersOf(order: ImageOrder, seed: Buffer): OverlayOptions {
  const { width, height, model } = order
  // Sets a configuration file, because fontconfig prints an error to stderr without one.
  process.env['FONTCONFIG_FILE'] ??= fontFile('fontconfig/57-dejavu-sans.conf')
  const prompt = legible(withoutDirectives(order.prompt)) || legible(order.prompt)
  // White letters need a dark ground on a source image, which may have any colour.
  const ground = order.action === 'edit' ? ' background="#0a0f1e" bgalpha="70%"' : ''
  const about = `simulated · ${legible(model)} · ${width}x${height} · ${seed.toString('hex', 0, 3)}`
  return {
    input: {
      text: {
        text: `<span foreground="white"${ground}>${prompt}\n<span size="36%">${about}</span></span>`,
        font: 'DejaVu Sans Bold',
        fontfile: fontFile('ttf/DejaVuSans-Bold.ttf'),
        width: Math.round(width * 0.8),
        height: Math.round(height * 0.16),
        rgba: true,
        wrap: 'word-char',
      },
    },
    ...(order.action === 'edit'
      ? { gravity: 'south' }
      : { top: Math.round(height * 0.04), left: Math.round(width * 0.05) }),
  }
}

function fontFile(path: string): string {
  return fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/${path}`))
}

/**
 * Returns the text for Pango markup: without control characters and unpaired surrogates, which Pango rejects,
 * with `&`, `<` and `>` escaped, and cut after `charactersMax` characters.
 */
function legible(text: string): string {
  const clean = text
    .slice(0, charactersMax * 4)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
  const characters = Array.from(clean)
  const shown =
    characters.length <= charactersMax ? clean : `${characters.slice(0, charactersMax).join('')}…`
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function encode(picture: Sharp, format: ImageFormat, quality: number): Promise<Buffer> {
  const options =
    format === 'png' ? { compressionLevel: 2 } : { quality: Math.max(1, quality), effort: 0 }
  return picture.removeAlpha().toFormat(format, options).toBuffer()
}

/**
 * Returns an SVG of hills under an evening sky, as the ground of a drawn image. The seed decides the colours,
 * the sun and the hills. The top is dark, because white letters are drawn there.
 */
function sceneSvg({ width, height }: ImageOrder, seed: Buffer): string {
  /** A part of the seed, from 0 to 1. */
  const chance = (at: number) => seed.readUInt8(at) / 255
  // Blues and purples above, oranges at the horizon.
  const [hue, warm] = [185 + 110 * chance(0), 8 + 34 * chance(1)]
  const [sunX, sunY] = [width * (0.2 + 0.6 * chance(2)), height * (0.5 + 0.14 * chance(3))]
  const sunR = Math.min(width, height) * (0.07 + 0.06 * chance(4))
  const hills = [0.62, 0.72, 0.83].map((top, n) => {
    const [x, reach] = [width * chance(5 + n), width * (0.5 + 0.4 * chance(8 + n))]
    const fill = `hsl(${hue + 8 * n}, ${34 - 4 * n}%, ${27 - 8 * n}%)`
    const [y, r] = [height * (top + 0.3), height * (0.26 + 0.1 * chance(11 + n))]
    return `<rect y="${y - 0.12 * height}" width="100%" height="100%" fill="${fill}"/>
<ellipse cx="${x}" cy="${y}" rx="${reach}" ry="${r}" fill="${fill}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
<stop offset="0" stop-color="hsl(${hue}, 45%, 16%)"/>
<stop offset="0.4" stop-color="hsl(${hue}, 40%, 36%)"/>
<stop offset="0.7" stop-color="hsl(${warm}, 62%, 68%)"/></linearGradient></defs>
<rect width="100%" height="100%" fill="url(#sky)"/>
<circle cx="${sunX}" cy="${sunY}" r="${sunR * 2.2}" fill="hsl(${warm}, 90%, 85%)" opacity="0.18"/>
<circle cx="${sunX}" cy="${sunY}" r="${sunR}" fill="hsl(${warm}, 95%, 90%)"/>
${hills.join('\n')}</svg>`
}
