import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../../../src/dev/command.ts'
import { lockFile, makePrivateFolder } from '../../../src/dev/dataDir.ts'
import { userCacheDir } from '../../../src/dev/goTools.ts'
import { root, textOf } from '../sourceFiles.ts'

export type PythonTools = {
  /** The program, for `python -m`: the scripts of its folder do not run. */
  readonly python: string
  /** A folder with the files of all packages, to install from without a network. */
  readonly wheels: string
  /** What pyright runs with, which keeps its own files beside. */
  readonly env: Readonly<Record<string, string>>
}

/** The first run installs them, which takes about a minute. Later runs use the user's cache. */
export const pythonToolsMsMax = 5 * 60_000
const requirements = join(root, 'clients/python/requirements.txt')
const names = ['python3', ...[14, 13, 12, 11, 10].map((minor) => `python3.${minor}`)]

/** Returns a Python with httpx and the tools of the Python client, or why this machine has none. */
export async function findPythonTools(): Promise<PythonTools | string> {
  const python = await findPython()
  if (python === undefined) return 'Skipped: no Python 3.10 or newer.'
  const folder = join(userCacheDir(), `python-${digestOf(python)}`)
  await makePrivateFolder(userCacheDir(), 'XDG_CACHE_HOME')
  const lock = await lockFile(`${folder}.lock`, { timeoutMs: pythonToolsMsMax })
  try {
    if (!existsSync(folder)) await install(python, folder)
    return toolsIn(folder)
  } catch (error) {
    return `Skipped: no tools for Python. ${String(error)}`
  } finally {
    lock?.release()
  }
}

async function findPython(): Promise<string | undefined> {
  const show = 'import sys; assert sys.version_info >= (3, 10); print(sys.executable, sys.version)'
  for (const name of names) {
    const ran = await runCommand(name, ['-c', show], { env: process.env, timeoutMs: 10_000 })
    if (ran.ok) return ran.output.split(' ')[0]
  }
  return undefined
}

function digestOf(python: string): string {
  const text = textOf('clients/python/requirements.txt')
  return createHash('sha256').update(`${python}\n${text}`).digest('hex').slice(0, 16)
}

function toolsIn(folder: string): PythonTools {
  return {
    python: join(folder, 'bin/python'),
    wheels: join(folder, 'wheels'),
    env: { PYRIGHT_PYTHON_CACHE_DIR: join(folder, 'pyright') },
  }
}

/** The folder gets its final name only when all is in it. */
async function install(python: string, folder: string): Promise<void> {
  const draft = `${folder}.making`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft)
  const tools = toolsIn(draft)
  const run = async (file: string, ...args: readonly string[]) => {
    const env = { ...process.env, ...tools.env }
    const { ok, output } = await runCommand(file, args, { env, timeoutMs: pythonToolsMsMax })
    if (!ok) throw new Error(output.slice(-300))
  }
  await run(python, '-m', 'venv', draft)
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet']
  await run(tools.python, ...pip, 'download', '--dest', tools.wheels, '-r', requirements)
  const offline = ['--no-index', '--find-links', tools.wheels]
  await run(tools.python, ...pip, 'install', ...offline, '-r', requirements)
  // Fetches the checker itself.
  await run(tools.python, '-m', 'pyright', '--version')
  await rename(draft, folder)
}
