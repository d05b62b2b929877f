import { fileURLToPath } from 'node:url'
import sharp from 'sharp'

/** The font travels with the package, so that text shows on a machine without any font. */
const fontFile = fileURLToPath(import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'))
const fontFamily = 'DejaVu Sans Bold'

/**
 * Points fontconfig at a file of the package: without this it complains on a machine that has no
 * configuration, and takes other fonts into account on one that has. To be called before the first text.
 */
export function useOnlyOwnFont(): void {
  process.env['FONTCONFIG_FILE'] ??= fileURLToPath(
    import.meta.resolve('dejavu-fonts-ttf/fontconfig/57-dejavu-sans.conf'),
  )
}

/** A drawn text, RGBA as PNG, with transparent ground. */
export type TextLayer = { readonly png: Buffer; readonly width: number; readonly height: number }

export type TextBox = {
  readonly width: number
  readonly height: number
  /** Pixels; the text shrinks from the larger to the smaller to fit, then is cut off. */
  readonly fontMax: number
  readonly fontMin: number
}

/** Beyond this a prompt would not be legible anyhow. */
const charactersMax = 600
const shrinkStep = 0.82
const shrinksMax = 12

/**
 * Draws white text, wrapped, as large as it fits into the box. Empty text draws nothing: null. The same
 * of text without ink (blanks of no width, marks of direction), which only the font can tell.
 */
export async function drawText(text: string, box: TextBox): Promise<TextLayer | null> {
  try {
    return await drawInk(text, box)
  } catch (error) {
    if (error instanceof Error && error.message.includes('no text to render')) return null
    throw error
  }
}

async function drawInk(text: string, box: TextBox): Promise<TextLayer | null> {
  let shown = legible(text)
  if (shown === '') return null
  let font = Math.min(box.fontMax, fittingFont(shown, box))
  let layer = await render(shown, font, box)
  for (let shrinks = 0; layer.height > box.height && shrinks < shrinksMax; shrinks += 1) {
    if (font > box.fontMin) font = Math.max(box.fontMin, font * shrinkStep)
    else shown = `${shown.slice(0, Math.floor(shown.length * shrinkStep)).trimEnd()}…`
    layer = await render(shown, font, box)
  }
  return layer
}

/** One line's worth of markup-safe text: white space collapsed, control characters and halves dropped. */
function legible(text: string): string {
  const clean = text
    .slice(0, charactersMax * 4)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = Array.from(clean)
  return characters.length <= charactersMax
    ? clean
    : `${characters
        .slice(0, charactersMax - 1)
        .join('')
        .trimEnd()}…`
}

/** A first guess: glyphs of this font are about 0.68 em wide, lines 1.2 em high, wrapping wastes some. */
function fittingFont(text: string, box: TextBox): number {
  const guess = Math.sqrt((box.width * box.height) / (text.length * 0.68 * 1.2 * 1.15))
  return Math.max(box.fontMin, guess)
}

async function render(text: string, fontPixels: number, box: TextBox): Promise<TextLayer> {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const { data, info } = await sharp({
    text: {
      text: `<span foreground="white">${escaped}</span>`,
      font: `${fontFamily} ${Math.max(6, Math.round(fontPixels))}`,
      fontfile: fontFile,
      width: Math.round(box.width),
      dpi: 72,
      rgba: true,
      wrap: 'word-char',
    },
  })
    .png({ compressionLevel: 1 })
    .toBuffer({ resolveWithObject: true })
  return { png: data, width: info.width, height: info.height }
}
