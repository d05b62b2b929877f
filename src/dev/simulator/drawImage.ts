import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { OverlayOptions, Sharp } from 'sharp'
import sharp from 'sharp'
import { assertNever } from '../../domain/assertNever.ts'
import { withoutDirectives } from './faultPlan.ts'
import type { Fault, ImageFault } from './faults.ts'
import { isImageFault } from './faults.ts'
import type { ImageFormat, ImageOrder } from './imageOrder.ts'
import { sceneSvg } from './scene.ts'

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
 * Returns the seed of one image of an answer. Two seeds differ when the action, model, prompt, source images or size
 * differ, or the request's own `seed` (family A) or `quality` (family B), or the index of the image in the answer.
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
  const onGround = (): Promise<Buffer> => finish(groundOf(order, seed).composite(overlays))
  const bytes = sources[0]?.bytes
  if (bytes === undefined) return onGround()
  const source = sharp(bytes, { limitInputPixels: sourcePixelsMax })
    .autoOrient()
    .resize({ width, height, fit: 'cover' })
    .flatten({ background: '#ffffff' })
  // Tests send sources of which only the first bytes are an image. The vendor's model would fail for them in
  // its own way. The simulator accepts them and draws on a landscape.
  return finish(source.composite(overlays)).catch(onGround)
}

function groundOf(order: ImageOrder, seed: Buffer): Sharp {
  return sharp(Buffer.from(sceneSvg(order, seed)))
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
 * Returns the text for Pango markup: without control characters and unpaired surrogates, which Pango rejects, with
 * `&`, `<` and `>` escaped, and cut after `charactersMax` characters.
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
