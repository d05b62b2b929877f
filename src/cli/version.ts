import { readFileSync } from 'node:fs'

/** Which Darkroom this checkout is, as its package.json says. */
export function version(): string {
  const path = new URL('../../package.json', import.meta.url)
  const manifest: { readonly version: string } = JSON.parse(readFileSync(path, 'utf8'))
  return manifest.version
}
