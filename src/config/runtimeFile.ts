import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from './configError.ts'
import type { Environment } from './environment.ts'

/** File in DATA_DIR where a running `npm start` leaves the variables of its processes (mode 0600). */
export const runtimeFileName = 'runtime.json'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/**
 * The environment with what a running `npm start` on the same DATA_DIR left in `runtime.json` behind it:
 * so the CLI finds the stack without being told. What is set wins.
 */
export function withRuntimeFile(environment: Environment): Environment {
  const path = join(resolve(environment['DATA_DIR'] ?? '.data'), runtimeFileName)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    return environment
  }
  const read = runtimeFile.safeParse(JSON.parse(content))
  if (!read.success) throw new ConfigError(`${path} is not a file that \`npm start\` wrote`)
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  return { ...read.data.environment, ...set }
}
