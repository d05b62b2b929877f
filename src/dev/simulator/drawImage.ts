import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Sharp } from 'sharp'
import sharp from 'sharp'
import type { Fault } from './faults.ts'
import { withoutDirectives } from './directives.ts'
import type { EncodedImage, ImageOrder } from './order.ts'

/**
 * What the simulator sends as an image. `drawn`: a picture of the readable prompt, in the size that was asked
 * for. `tiny`: 16x16 pixels in a colour that depends on the request, for tests that make hundreds of images. A buffer:
 * exactly these bytes.
 */
export type ImageMode = 'drawn' | 'tiny' | Buffer

/** Makes the images of an answer, and damages them if the fault asks for that. The same order gives the same bytes. */
export async function makeImages(
  mode: ImageMode,
  asked: ImageOrder,
  count: number,
  fault: Fault | undefined,
): Promise<readonly EncodedImage[]> {
  const sides = fault?.kind === 'pixels' ? { width: fault.width, height: fault.height } : undefined
  const order = { ...asked, ...sides }
  const format = fault?.kind === 'wrong-mime' ? fault.as : order.format
  const quality = Math.max(1, order.compression)
  const options = format === 'png' ? { compressionLevel: 2 } : { quality, effort: 0 }
  const images: EncodedImage[] = []
  for (let index = 0; index < count; index += 1) {
    const seed = seedOf(order, index)
    const picture = mode === 'drawn' ? await drawPrompt(order, seed) : oneColour(seed, sides)
    const bytes = Buffer.isBuffer(mode) ? mode : await picture.toFormat(format, options).toBuffer()
    images.push({ mimeType: `image/${order.format}`, data: dataOf(bytes, fault) })
  }
  return images
}

function dataOf(bytes: Buffer, fault: Fault | undefined): string {
  const data = bytes.toString('base64')
  const middle = Math.floor(data.length / 2)
  if (fault?.kind === 'bad-base64') return `${data.slice(0, middle)}*!*${data.slice(middle + 3)}`
  if (fault?.kind === 'cut-image') {
    return bytes.subarray(0, Math.floor(bytes.length / 2)).toString('base64')
  }
  if (fault?.kind !== 'not-image') return data
  return Buffer.from('The simulator was asked for bytes that are no image.').toString('base64')
}

/** Returns bytes that differ when the request differs, or the index of the image in the answer. */
function seedOf(order: ImageOrder, index: number): Buffer {
  const { action, model, prompt, sources, width, height, variant } = order
  const digests = sources.map(({ sha256 }) => sha256)
  const parts = [action, model, prompt, digests, width, height, variant, index]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

function oneColour([r = 0, g = 0, b = 0]: Buffer, sides = { width: 16, height: 16 }): Sharp {
  return sharp({ create: { ...sides, channels: 3, background: { r, g, b } } })
}

const sourcePixelsMax = 200_000_000
/** Limit for the characters of the prompt in the picture. The letters of a longer text would be too small to read. */
const charactersMax = 600

/** Draws the prompt on the first source image, or on a sky. */
async function drawPrompt(order: ImageOrder, seed: Buffer): Promise<Sharp> {
  const { width, height, sources, action } = order
  const source = sources[0]?.content
  // Tests send sources of which only the first bytes are an image. The vendor's model would fail for them in
  // its own way. The simulator accepts them and draws on a sky.
  const pixels =
    source &&
    (await sharp(source, { limitInputPixels: sourcePixelsMax })
      .autoOrient()
      .resize({ width, height, fit: 'cover' })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .raw()
      .toBuffer()
      .catch(() => undefined))
  const ground = pixels
    ? sharp(pixels, { raw: { width, height, channels: 3 } })
    : sky(seed).resize({ width, height, fit: 'fill', kernel: 'cubic' })
  const text = await textOf(order, seed)
  const margin = Math.round(height * 0.04)
  // An edit writes at the bottom, so that the text in a generated source image stays visible.
  const top = action === 'edit' ? Math.max(0, height - margin - text.info.height) : margin
  return ground.composite([{ input: text.data, left: Math.round(width * 0.05), top }]).removeAlpha()
}

/** The lowest red, green and blue of the sky: at the top, in the middle, at the bottom. The seed adds up to 51. */
const skyColours = [25, 30, 60, 195, 140, 110, 15, 20, 35]

/** An evening sky of 1x3 pixels, in colours that the seed decides. */
function sky(seed: Buffer): Sharp {
  const pixels = Uint8Array.from(skyColours, (least, at) => least + (seed[at] ?? 0) / 5)
  return sharp(pixels, { raw: { width: 1, height: 3, channels: 3 } })
}

/**
 * Draws the prompt and a line about the image, in white, on a dark ground where a source image may have any colour. The
 * font comes from a package, because a machine may have no fonts.
 */
function textOf({ width, height, model, action, prompt: asked }: ImageOrder, seed: Buffer) {
  // Sets a configuration file, because fontconfig prints an error to stderr without one.
  process.env['FONTCONFIG_FILE'] ??= fontFile('fontconfig/57-dejavu-sans.conf')
  const prompt = legible(withoutDirectives(asked)) || legible(asked)
  const ground = action === 'edit' ? ' background="#0a0f1e" bgalpha="70%"' : ''
  const about = `simulated · ${legible(model)} · ${width}x${height} · ${seed.toString('hex', 0, 3)}`
  const [boxWidth, boxHeight] = [Math.round(width * 0.8), Math.round(height * 0.16)]
  // A letter is about as wide as high. sharp could find the size itself, by drawing the text again and again.
  const letter = Math.min(
    boxHeight / 3,
    Math.sqrt((boxWidth * boxHeight) / (prompt.length + 20)) / 1.3,
  )
  const text = sharp({
    text: {
      text: `<span foreground="white"${ground}>${prompt}\n<span size="50%">${about}</span></span>`,
      font: `DejaVu Sans Bold ${Math.max(4, Math.round(letter))}`,
      fontfile: fontFile('ttf/DejaVuSans-Bold.ttf'),
      width: boxWidth,
      rgba: true,
      wrap: 'word-char',
    },
  })
  return text
    .resize({ width: boxWidth, height, fit: 'inside', withoutEnlargement: true })
    .png()
    .toBuffer({ resolveWithObject: true })
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
