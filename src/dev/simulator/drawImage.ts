import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Sharp } from 'sharp'
import sharp from 'sharp'
import type { Fault } from './faults.ts'
import { withoutDirectives } from './faults.ts'
import type { ImageFormat, ImageOrder } from './order.ts'

/**
 * What the simulator sends as an image. `drawn`: a picture of the readable prompt, in the size that was asked
 * for. `tiny`: 16x16 pixels in a colour that depends on the request, for tests that make hundreds of images. A buffer:
 * exactly these bytes.
 */
export type ImageMode = 'drawn' | 'tiny' | Buffer

/** An image in an answer. `data` is base64, except when a fault damages it. */
export type EncodedImage = { readonly mimeType: string; readonly data: string }

/** Makes the images of an answer, and damages them if the fault asks for that. The same order gives the same bytes. */
export async function makeImages(
  mode: ImageMode,
  order: ImageOrder,
  count: number,
  fault: Fault | undefined,
): Promise<readonly EncodedImage[]> {
  const format = fault?.kind === 'wrong-mime' ? fault.as : order.format
  const quality = order.family === 'B' ? Math.max(1, order.compression) : 90
  const images: EncodedImage[] = []
  for (let index = 0; index < count; index += 1) {
    const bytes = Buffer.isBuffer(mode)
      ? mode
      : await encode(await pictureOf(mode, order, index), format, quality)
    images.push({ mimeType: `image/${order.format}`, data: dataOf(bytes, fault) })
  }
  return images
}

function pictureOf(
  mode: 'drawn' | 'tiny',
  order: ImageOrder,
  index: number,
): Sharp | Promise<Sharp> {
  const seed = seedOf(order, index)
  return mode === 'tiny' ? oneColour(seed) : drawPrompt(order, seed)
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

function encode(picture: Sharp, format: ImageFormat, quality: number): Promise<Buffer> {
  const options = format === 'png' ? { compressionLevel: 2 } : { quality, effort: 0 }
  return picture.toFormat(format, options).toBuffer()
}

/** Returns bytes that differ when the request differs, or the index of the image in the answer. */
function seedOf(order: ImageOrder, index: number): Buffer {
  const { action, model, prompt, sources, width, height } = order
  const digests = sources.map(({ sha256 }) => sha256)
  const own = order.family === 'A' ? order.seed : order.quality
  const parts = [action, model, prompt, digests, width, height, own, index]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function oneColour([r = 0, g = 0, b = 0]: Buffer): Sharp {
  return sharp({ create: { width: 16, height: 16, channels: 3, background: { r, g, b } } })
}

const sourcePixelsMax = 200_000_000
const channels = 3
/** So many rows of the sky have one colour: the next row would differ by less than one step. */
const bandRows = 4

/**
 * Draws the prompt on the first source image, or on a landscape. The pixels are set here: the same picture as an SVG
 * with the text over it takes four times the CPU.
 */
async function drawPrompt(order: ImageOrder, seed: Buffer): Promise<Sharp> {
  const { width, height, sources } = order
  const source = sources[0]?.content
  // Tests send sources of which only the first bytes are an image. The vendor's model would fail for them in
  // its own way. The simulator accepts them and draws on a landscape.
  const pixels =
    source === undefined
      ? landscape(order, seed)
      : await sharp(source, { limitInputPixels: sourcePixelsMax })
          .autoOrient()
          .resize({ width, height, fit: 'cover' })
          .flatten({ background: '#ffffff' })
          .toColourspace('srgb')
          .raw()
          .toBuffer()
          .catch(() => landscape(order, seed))
  await writePrompt(pixels, order, seed)
  return sharp(pixels, { raw: { width, height, channels } })
}

/** Returns the pixels of hills under an evening sky, whose colours and places the seed decides. */
function landscape({ width, height }: ImageOrder, seed: Buffer): Buffer {
  const pixels = Buffer.allocUnsafe(width * height * channels)
  /** A number between the two, by one byte of the seed. */
  const chance = (at: number, from: number, to: number) =>
    from + ((to - from) * seed.readUInt8(at)) / 255
  const [top, horizon, hill] = [0, 3, 6].map((at) => {
    const [from, to] = at === 3 ? [150, 250] : [20, 90]
    return [0, 1, 2].map((n) => chance(at + n, from, to))
  })
  const mixed = (low: number[] = [], high: number[] = [], share: number) =>
    Uint8Array.from(low, (value, n) => value + ((high[n] ?? 0) - value) * share)
  const ellipse = (x: number, y: number, rx: number, ry: number, colour: Uint8Array): void => {
    for (let row = Math.max(0, Math.ceil(y - ry)); row < Math.min(height, y + ry); row += 1) {
      const reach = rx * Math.sqrt(1 - ((row - y) / ry) ** 2)
      const from = Math.round(Math.max(0, x - reach))
      const to = Math.round(Math.min(width, x + reach))
      if (from < to)
        pixels.fill(colour, (row * width + from) * channels, (row * width + to) * channels)
    }
  }
  for (let row = 0; row < height; row += bandRows) {
    const colour = mixed(top, horizon, Math.min(1, row / height / 0.7))
    const end = Math.min(height, row + bandRows)
    pixels.fill(colour, row * width * channels, end * width * channels)
  }
  const sun = Math.min(width, height) * chance(9, 0.07, 0.13)
  const sunAt = height * chance(11, 0.5, 0.6)
  ellipse(width * chance(10, 0.2, 0.8), sunAt, sun, sun, mixed(horizon, [255, 255, 255], 0.7))
  for (const [n, at] of [0.75, 0.87, 1].entries()) {
    const [x, reach] = [width * chance(12 + n, 0, 1), width * chance(15 + n, 0.7, 1.2)]
    ellipse(
      x,
      height * (at + 0.1),
      reach,
      height * chance(18 + n, 0.15, 0.25),
      mixed(hill, [0, 0, 0], n / 4),
    )
  }
  return pixels
}

/** Limit for the characters of the prompt in the picture. The letters of a longer text would be too small to read. */
const charactersMax = 600

/**
 * Writes the prompt and a line about the image, in white, on a dark ground where a source image may have any colour. An
 * edit writes at the bottom, so that the text in a generated source image stays visible. The font comes from a package,
 * because a machine may have no fonts.
 */
async function writePrompt(pixels: Buffer, order: ImageOrder, seed: Buffer): Promise<void> {
  const { width, height, model, action } = order
  // Sets a configuration file, because fontconfig prints an error to stderr without one.
  process.env['FONTCONFIG_FILE'] ??= fontFile('fontconfig/57-dejavu-sans.conf')
  const prompt = legible(withoutDirectives(order.prompt)) || legible(order.prompt)
  const ground = action === 'edit' ? ' background="#0a0f1e" bgalpha="70%"' : ''
  const about = `simulated · ${legible(model)} · ${width}x${height} · ${seed.toString('hex', 0, 3)}`
  const [boxWidth, boxHeight] = [Math.round(width * 0.8), Math.round(height * 0.16)]
  // A letter is about as wide as high. sharp could find the size itself, by drawing the text again and again.
  const letter = Math.min(
    boxHeight / 3,
    Math.sqrt((boxWidth * boxHeight) / (prompt.length + 20)) / 1.3,
  )
  const { data, info } = await sharp({
    text: {
      text: `<span foreground="white"${ground}>${prompt}\n<span size="50%">${about}</span></span>`,
      font: `DejaVu Sans Bold ${Math.max(4, Math.round(letter))}`,
      fontfile: fontFile('ttf/DejaVuSans-Bold.ttf'),
      width: boxWidth,
      rgba: true,
      wrap: 'word-char',
    },
  })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const left = Math.round(width * 0.05)
  const margin = Math.round(height * 0.04)
  const top = action === 'edit' ? Math.max(0, height - margin - info.height) : margin
  for (let y = 0; y < Math.min(info.height, height - top); y += 1) {
    for (let x = 0; x < Math.min(info.width, width - left); x += 1) {
      const from = (y * info.width + x) * info.channels
      const to = ((top + y) * width + left + x) * channels
      const alpha = (data[from + 3] ?? 0) / 255
      if (alpha === 0) continue
      for (let n = 0; n < channels; n += 1) {
        const below = pixels[to + n] ?? 0
        pixels[to + n] = below + ((data[from + n] ?? 0) - below) * alpha
      }
    }
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
  const clean = text.slice(0, charactersMax * 4).replaceAll(/[\p{C}\s]+/gu, ' ')
  const shown = Array.from(clean.trim()).slice(0, charactersMax).join('')
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
