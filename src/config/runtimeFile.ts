import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Environment } from '../config.ts'
import { ConfigError } from './configError.ts'

/** The file in DATA_DIR in which a running `npm start` stores the variables of its processes. */
export const runtimeFileName = 'runtime.json'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/**
 * Writes process id and variables for the CLI and for tests of a running stack. Only the owner can read the
 * file (mode 0600), because it contains secrets. It is renamed into place, so that no reader sees half of it.
 */
export async function writeRuntimeFile(
  dataDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const path = join(dataDir, runtimeFileName)
  const draft = `${path}.new`
  const content = { pid: process.pid, environment }
  // Writing to a draft that a crash left behind would keep the mode of that draft.
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(draft, path)
}

/**
 * Adds the variables that a running `npm start` on the same DATA_DIR stored in `runtime.json`, so that the
 * CLI finds the stack. Variables that are set in `environment` win. Throws `ConfigError` with the path of
 * the file, never with its content, when the file is broken.
 */
export function withRuntimeFile(environment: Environment): Environment {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const path = join(resolve(set['DATA_DIR'] ?? '.data'), runtimeFileName)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    return environment
  }
  const stored = variablesIn(content)
  if (stored === undefined) {
    throw new ConfigError(
      `${path} is broken. \`npm start\` writes a new one. Remove it if nothing runs there.`,
    )
  }
  return { ...stored, ...set }
}

function variablesIn(content: string): Readonly<Record<string, string>> | undefined {
  try {
    return runtimeFile.safeParse(JSON.parse(content)).data?.environment
  } catch {
    return undefined
  }
}
