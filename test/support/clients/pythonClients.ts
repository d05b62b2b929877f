import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { userCacheDir } from '../../../src/dev/goTools.ts'
import { runCommand } from '../../../src/dev/command.ts'

/** The folder of the installed client libraries, or why they could not be installed. */
export type PythonClients =
  | { readonly kind: 'installed'; readonly folder: string }
  | { readonly kind: 'missing'; readonly why: string }

/** The versions that the tests install. */
export const pinnedClients = ['openai==3.54.0'] as const
const installMsMax = 90_000
/** Loading the libraries takes seconds of CPU, and other tests use both cores. */
export const pythonMsMax = 90_000
const env = process.env

/** Installs the pinned libraries once, into the user's cache outside the repository. */
export async function installPythonClients(): Promise<PythonClients> {
  const printVersion = 'import sys, platform; print(sys.version_info[0:2], platform.machine())'
  const python = await runCommand('python3', ['-c', printVersion], { env, timeoutMs: 10_000 })
  if (!python.ok) return { kind: 'missing', why: 'python3 does not run' }
  const name = `python ${pinnedClients.join(' ')} ${python.output}`.replaceAll(/[^\w.]+/g, '-')
  const folder = join(userCacheDir(), name)
  if (existsSync(folder)) return { kind: 'installed', folder }
  const draft = `${folder}.installing-${process.pid}`
  await mkdir(userCacheDir(), { recursive: true })
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--target', draft, ...pinnedClients]
    const pip = await runCommand('python3', args, { env, timeoutMs: installMsMax })
    if (!pip.ok) return { kind: 'missing', why: lastLine(pip.output) }
    await rename(draft, folder).catch((error: unknown) => {
      // Another test run may have installed the folder meanwhile.
      if (!existsSync(folder)) throw error
    })
    return { kind: 'installed', folder }
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** What `imageClients.py` prints: the SHA-256 of its images in the order of its calls, and further fields. */
export type PythonAnswers = { readonly images: readonly string[] } & Readonly<
  Record<string, unknown>
>

/** Runs `imageClients.py`. Throws with the output of Python when it fails. */
export async function runImageClients(
  clients: PythonClients,
  args: readonly string[],
): Promise<PythonAnswers> {
  const script = fileURLToPath(new URL('imageClients.py', import.meta.url))
  const path = clients.kind === 'installed' ? { PYTHONPATH: clients.folder } : {}
  const ran = await runCommand('python3', [script, ...args], {
    env: { ...env, ...path },
    timeoutMs: pythonMsMax,
  })
  if (!ran.ok) throw new Error(`python: ${ran.output}`)
  const answers: PythonAnswers = JSON.parse(ran.output.split('\n').at(-1) ?? '')
  return answers
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
}
