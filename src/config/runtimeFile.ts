import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Environment } from './environment.ts'
import { setVariables } from './environment.ts'
import { ConfigError } from './configError.ts'

/** The file in DATA_DIR where a running `npm start` stores the variables of its processes. */
export const runtimeFileName = 'runtime.json'

/** The file in DATA_DIR where `npm start` writes how far its build of Temporal is. The playground shows it. */
export const engineFileName = 'engine'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/** The installation that a command of the CLI works with. */
export type Installation = {
  readonly environment: Environment
  /** Which one it is, in words. Has no secret. */
  readonly name: string
}

/** The variables that say which installation is meant. */
const namingVariables = ['DATABASE_URL', 'DATABASE_SESSION_URL', 'TEMPORAL_ADDRESS', 'KEY_PEPPER']

/**
 * Returns the installation of the CLI: that of the running `npm start` with the same DATA_DIR, which stored its variables
 * in `runtime.json`, or that of `environment`. Never a mix of both, because a key made with the pepper of another
 * installation works in none. It is the environment's when no `npm start` runs, and when one of `namingVariables` is set
 * to something else than there. When the file is broken, throws `ConfigError` with its path, never with its content.
 */
export function findInstallation(environment: Environment): Installation {
  const set = setVariables(environment)
  const dataDir = resolve(set['DATA_DIR'] ?? '.data')
  const started = `\`npm start\` on ${dataDir}`
  const running = readRuntimeFile(join(dataDir, runtimeFileName))
  if (running === undefined) {
    return { environment: set, name: `the environment${databaseOf(set) ?? `. No ${started} runs`}` }
  }
  const others = namingVariables.filter((name) => set[name] && set[name] !== running[name])
  return others.length === 0
    ? { environment: { ...set, ...running }, name: started }
    : {
        environment: set,
        name: `the environment${databaseOf(set) ?? ''}. It sets ${others.join(', ')}, so the ${started} is not used`,
      }
}

/** Returns where the database is, for people, or `undefined` when DATABASE_URL is not set or is no URL. */
function databaseOf({ DATABASE_URL: url = '' }: Environment): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { host, pathname } = new URL(url)
  return `, PostgreSQL at ${host}${pathname}`
}

function readRuntimeFile(path: string): Environment | undefined {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  try {
    return runtimeFile.parse(JSON.parse(content)).environment
  } catch {
    throw new ConfigError(
      `${path} is broken. \`npm start\` writes a new one. Remove it if nothing runs there.`,
    )
  }
}
