import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../sourceFiles.ts'

/**
 * Makes the TypeScript client importable from programs in a folder, as it stands in this checkout, and returns the
 * environment in which Python finds its own.
 */
export function useClientsIn(folder: string): Readonly<Record<string, string>> {
  const at = join(folder, 'node_modules/darkroom-client')
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"type":"module","exports":"./client.js"}')
  const source = JSON.stringify(join(root, 'clients/typescript/src/darkroom.ts'))
  writeFileSync(join(at, 'client.js'), `export * from ${source}`)
  return { PYTHONPATH: join(root, 'clients/python/src') }
}
