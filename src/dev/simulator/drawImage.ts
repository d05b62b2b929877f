import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { OverlayOptions, Sharp } from 'sharp'
import sharp from 'sharp'
import { assertNever } from '../../domain/assertNever.ts'
import { withoutDirectives } from './faultPlan.ts'
import type { Fault, ImageFault } from './faults.ts'
import { isImageFault } from './faults.ts'
import type { ImageFormat, ImageOrder } from './imageOrder.ts'

/**
 * What the simulator answers as an image. `drawn`: the prompt, legible, at the asked size. `tiny`: 16x16
 * pixels of a colour that depends on the request, for tests that make hundreds. A buffer: these bytes.
 */
export type ImageMode = 'drawn' | 'tiny' | Buffer

/** An image in an answer. `data` is base64, unless a fault damages it. */
export type EncodedImage = { readonly mimeType: string; readonly data: string }

/** Makes the images of an answer, damaged as the fault asks. */
export async function makeImages(
  mode: ImageMode,
  order: ImageOrder,
  count: number,
  fault: Fault | undefined,
): Promise<readonly EncodedImage[]> {
  const format = fault?.kind === 'wrong-mime' ? (fault.as ?? 'jpeg') : order.format
  const images: EncodedImage[] = []
  for (let index = 0; index < count; index += 1) {
    const bytes = await drawImage(mode, order, index, format)
    const data = isImageFault(fault) ? damaged(bytes, fault) : bytes.toString('base64')
    images.push({ mimeType: `image/${order.format}`, data })
  }
  return images
}

function damaged(bytes: Buffer, fault: ImageFault): string {
  switch (fault.kind) {
    case 'bad-base64': {
      const data = bytes.toString('base64')
      const middle = Math.floor(data.length / 2)
      return `${data.slice(0, middle)}*!*${data.slice(middle)}`
    }
    case 'not-image':
      return Buffer.from('The simulator was asked for bytes that are no image.').toString('base64')
    case 'cut-image':
      return bytes.subarray(0, Math.floor(bytes.length / 2)).toString('base64')
    case 'wrong-mime':
      return bytes.toString('base64')
    default:
      return assertNever(fault)
  }
}

/** One image. The same mode, order, index and format give the same bytes. */
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

/** Changes with everything in the request that changes a real vendor's image. */
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

/** The prompt on the first source image, or on a coloured ground when there is no source. */
async function drawPrompt(
  order: ImageOrder,
  seed: Buffer,
  finish: (picture: Sharp) => Promise<Buffer>,
): Promise<Buffer> {
  const { width, height, sources } = order
  const overlays = [lettersOf(order, seed)]
  const onGround = (): Promise<Buffer> => finish(groundOf(order, seed).composite(overlays))
  const bytes = sources[0]?.bytes
  if (bytes === undefined) return onGround()
  const source = sharp(bytes, { limitInputPixels: sourcePixelsMax })
    .autoOrient()
    .resize({ width, height, fit: 'cover' })
    .flatten({ background: '#ffffff' })
  // Tests send sources that only begin like an image. A vendor's model would fail in its own way; the
  // simulator accepts them.
  return finish(source.composite(overlays)).catch(onGround)
}

function groundOf({ width, height }: ImageOrder, seed: Buffer): Sharp {
  const hue = seed.readUInt16BE(0) % 360
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="ground" x1="0" y1="0" x2="1" y2="1">
<stop offset="0" stop-color="hsl(${hue}, 60%, 50%)"/>
<stop offset="1" stop-color="hsl(${(hue + 60) % 360}, 60%, 25%)"/></linearGradient></defs>
<rect width="100%" height="100%" fill="url(#ground)"/></svg>`
  return sharp(Buffer.from(svg))
}

/** A longer prompt is cut here: its letters would be too small to read. */
const charactersMax = 600

/**
 * The prompt and a line about the image, white on a dark ground, as large as fits. An edit writes at the
 * bottom, so that the text of a generated source stays visible. The font is a package, so that text shows
 * on a machine without fonts.
 */
function lettersOf(order: ImageOrder, seed: Buffer): OverlayOptions {
  const { width, height, model } = order
  // Without a configuration file, fontconfig prints an error to stderr.
  process.env['FONTCONFIG_FILE'] ??= fontFile('fontconfig/57-dejavu-sans.conf')
  const prompt = legible(withoutDirectives(order.prompt)) || legible(order.prompt)
  const about = `simulated · ${legible(model)} · ${width}x${height} · ${seed.toString('hex', 0, 3)}`
  return {
    input: {
      text: {
        text: `<span foreground="white" background="#0a0f1e" bgalpha="80%">${prompt}\n<span size="40%">${about}</span></span>`,
        font: 'DejaVu Sans Bold',
        fontfile: fontFile('ttf/DejaVuSans-Bold.ttf'),
        width: Math.round(width * 0.9),
        height: Math.round(height * 0.45),
        rgba: true,
        wrap: 'word-char',
      },
    },
    gravity: order.action === 'edit' ? 'south' : 'north',
  }
}

function fontFile(path: string): string {
  return fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/${path}`))
}

/** Text for Pango markup, which rejects control characters and unpaired surrogates. */
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
  const opaque = picture.removeAlpha()
  switch (format) {
    case 'png':
      return opaque.png({ compressionLevel: 2 }).toBuffer()
    case 'jpeg':
      return opaque.jpeg({ quality: Math.max(1, quality) }).toBuffer()
    case 'webp':
      return opaque.webp({ quality: Math.max(1, quality), effort: 0 }).toBuffer()
    default:
      return assertNever(format)
  }
}
