import sharp from 'sharp'
import type { PixelSize } from './imageSizes.ts'

/** Raw RGB pixels. */
export type Background = { readonly width: number; readonly height: number; readonly rgb: Buffer }

type Palette = {
  readonly sky: readonly [string, string, string]
  readonly sun: string
  readonly hills: readonly [string, string, string]
}

const palettes: readonly Palette[] = [
  {
    sky: ['#1b2a49', '#c8553d', '#f2c078'],
    sun: '#ffe8b0',
    hills: ['#7a3b55', '#5b2a4a', '#2d1b3d'],
  },
  {
    sky: ['#3a7bd5', '#8ec5fc', '#fdf6e3'],
    sun: '#fffbe0',
    hills: ['#5fa777', '#3b8262', '#23594b'],
  },
  {
    sky: ['#0b132b', '#1c2541', '#3a506b'],
    sun: '#f4f1de',
    hills: ['#26405c', '#182c46', '#0d1b2f'],
  },
  {
    sky: ['#f08a5d', '#f9b384', '#ffe5c4'],
    sun: '#fff3d6',
    hills: ['#b83b5e', '#8a2f55', '#5a2045'],
  },
  {
    sky: ['#42275a', '#734b6d', '#d7a9b8'],
    sun: '#fbe3e8',
    hills: ['#5d3a66', '#452a52', '#2c1a38'],
  },
  {
    sky: ['#134e5e', '#3d8b7d', '#b5dfca'],
    sun: '#f3ffe3',
    hills: ['#2b6f5f', '#1d5049', '#123635'],
  },
]

const sunPlaces = [22, 50, 78] as const
export const backgroundCount = palettes.length * sunPlaces.length

/** Kept backgrounds, in all: two of 3840x2160, or twenty of 1K. */
const cacheBytesMax = 64 * 1024 * 1024

export type Backgrounds = (size: PixelSize, variant: number) => Promise<Background>

/** Landscapes by number, `variant` from 0 to `backgroundCount - 1`; the least used ones are drawn again. */
export function createBackgrounds(): Backgrounds {
  const cache = new Map<string, Background>()
  let cachedBytes = 0
  return async (size, variant) => {
    const key = `${size.width}x${size.height}/${variant}`
    const hit = cache.get(key)
    const background = hit ?? (await drawBackground(size, variant))
    if (hit === undefined && !cache.has(key)) cachedBytes += background.rgb.length
    cache.delete(key)
    cache.set(key, background)
    for (const [oldKey, old] of cache) {
      if (cachedBytes <= cacheBytesMax) break
      cache.delete(oldKey)
      cachedBytes -= old.rgb.length
    }
    return background
  }
}

async function drawBackground(size: PixelSize, variant: number): Promise<Background> {
  const svg = Buffer.from(landscape(size, variant))
  const rgb = await sharp(svg).removeAlpha().raw().toBuffer()
  return { ...size, rgb }
}

function landscape({ width, height }: PixelSize, variant: number): string {
  const { sky, sun, hills } = palettes[variant % palettes.length] ?? fail()
  const sunX = sunPlaces[Math.floor(variant / palettes.length) % sunPlaces.length] ?? fail()
  const radius = Math.min(width, height) * 0.09
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
<stop offset="0" stop-color="${sky[0]}"/><stop offset=".55" stop-color="${sky[1]}"/>
<stop offset="1" stop-color="${sky[2]}"/></linearGradient></defs>
<rect width="100%" height="100%" fill="url(#sky)"/>
<circle cx="${(width * sunX) / 100}" cy="${height * 0.56}" r="${radius}" fill="${sun}"/>
<g transform="scale(${width / 100} ${height / 100})">
<path d="M0 68 Q12 58 24 66 T46 62 T70 66 T100 58 V100 H0Z" fill="${hills[0]}"/>
<path d="M0 78 Q18 66 38 75 T72 72 T100 76 V100 H0Z" fill="${hills[1]}"/>
<path d="M0 88 Q26 78 52 87 T100 84 V100 H0Z" fill="${hills[2]}"/>
</g></svg>`
}

function fail(): never {
  throw new Error('Bug: background variant out of range')
}
