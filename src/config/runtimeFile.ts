import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Environment } from '../config.ts'
import { setVariables } from '../config.ts'
import { ConfigError } from './configError.ts'

/** The file in DATA_DIR where a running `npm start` stores the variables of its processes. */
export const runtimeFileName = 'runtime.json'

/** The file in DATA_DIR where `npm start` says what it still builds, for the page. */
export const engineFileName = 'engine'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/**
 * Adds the variables that a running `npm start` with the same DATA_DIR stored in `runtime.json`, so that the
 * CLI finds the stack. A variable that is set in `environment` is not replaced. When the file is broken,
 * throws `ConfigError` with the path of the file, never with its content.
 */
export function withRuntimeFile(environment: Environment): Environment {
  const set = setVariables(environment)
  const path = join(resolve(set['DATA_DIR'] ?? '.data'), runtimeFileName)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    return set
  }
  try {
    return { ...runtimeFile.parse(JSON.parse(content)).environment, ...set }
  } catch {
    throw new ConfigError(
      `${path} is broken. \`npm start\` writes a new one. Remove it if nothing runs there.`,
    )
  }
}
