import { readFileSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from './configError.ts'
import type { Environment } from './configError.ts'

/** File in DATA_DIR where a running `npm start` leaves the variables of its processes (mode 0600). */
export const runtimeFileName = 'runtime.json'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/**
 * Leaves `environment` for the CLI and for tests of a running stack, as pid and variables. It holds secrets,
 * so it is the owner's alone; it comes by a rename, so that nobody reads half of it.
 */
export async function writeRuntimeFile(
  dataDir: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const path = join(dataDir, runtimeFileName)
  const draft = `${path}.new`
  const content = { pid: process.pid, environment }
  // One that a crash left behind would keep its mode.
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(draft, path)
}

/**
 * The environment with what a running `npm start` on the same DATA_DIR left in `runtime.json` behind it:
 * so the CLI finds the stack without being told. What is set wins. Throws `ConfigError` naming the file,
 * never with its text, when it is not one that `writeRuntimeFile` wrote.
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
  const left = variablesIn(content)
  if (left === undefined) {
    throw new ConfigError(
      `${path} is broken: \`npm start\` writes it anew. Remove it if nothing runs there.`,
    )
  }
  return { ...left, ...set }
}

function variablesIn(content: string): Readonly<Record<string, string>> | undefined {
  try {
    return runtimeFile.safeParse(JSON.parse(content)).data?.environment
  } catch {
    return undefined
  }
}
