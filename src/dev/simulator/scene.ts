/** The sizes of a scene in pixels. */
type Extent = { readonly width: number; readonly height: number }

/**
 * Returns an SVG of hills under an evening sky, as the ground of a drawn image. The seed decides the colours,
 * the sun and the hills. The top is dark, because white letters are drawn there.
 */
export function sceneSvg({ width, height }: Extent, seed: Buffer): string {
  // Blues and purples above, oranges at the horizon.
  const hue = 185 + (seed.readUInt16BE(0) % 110)
  const warm = 8 + (byte(seed, 2) % 34)
  const sun = {
    x: width * (0.2 + (0.6 * byte(seed, 3)) / 255),
    y: height * (0.5 + (0.14 * byte(seed, 4)) / 255),
    r: Math.min(width, height) * (0.07 + (0.06 * byte(seed, 5)) / 255),
  }
  const hills = [0.62, 0.72, 0.83].map((top, layer) => {
    const fill = `hsl(${hue + 8 * layer}, ${34 - 4 * layer}%, ${27 - 8 * layer}%)`
    return `<path d="${hillPath({ width, height }, top, seed.subarray(6 + 4 * layer))}" fill="${fill}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
<stop offset="0" stop-color="hsl(${hue}, 45%, 16%)"/>
<stop offset="0.4" stop-color="hsl(${hue}, 40%, 36%)"/>
<stop offset="0.7" stop-color="hsl(${warm}, 62%, 68%)"/></linearGradient></defs>
<rect width="100%" height="100%" fill="url(#sky)"/>
<circle cx="${sun.x}" cy="${sun.y}" r="${sun.r * 2.2}" fill="hsl(${warm}, 90%, 85%)" opacity="0.18"/>
<circle cx="${sun.x}" cy="${sun.y}" r="${sun.r}" fill="hsl(${warm}, 95%, 90%)"/>
${hills.join('\n')}</svg>`
}

const hillPoints = 48

/** Returns the outline of one row of hills. `top` is its middle height, as a part of the whole height. */
function hillPath({ width, height }: Extent, top: number, seed: Buffer): string {
  const waves = [1.3, 2.9].map((frequency, i) => ({
    frequency: frequency + byte(seed, i) / 255,
    phase: (byte(seed, i + 2) / 255) * Math.PI * 2,
    reach: i === 0 ? 0.055 : 0.022,
  }))
  const points = Array.from({ length: hillPoints + 1 }, (_, i) => {
    const across = i / hillPoints
    const rise = waves.reduce(
      (sum, { frequency, phase, reach }) =>
        sum + reach * Math.sin(frequency * across * Math.PI * 2 + phase),
      0,
    )
    return `${Math.round(across * width)},${Math.round((top + rise) * height)}`
  })
  return `M0,${height} L${points.join(' L')} L${width},${height} Z`
}

function byte(seed: Buffer, at: number): number {
  return seed[at % seed.length] ?? 0
}
