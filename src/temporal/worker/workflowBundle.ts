import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type WorkflowBundle = { readonly code: string }

type BundleOptions = {
  /** Default: a folder of the checkout, because other users of the machine cannot write code there. */
  readonly cacheDir?: string
  /** True adds `workflows/traceRun.ts`, which reports to the worker how each run ends. */
  readonly traced?: boolean
}

const checkoutCacheDir = fileURLToPath(
  new URL('../../../node_modules/.cache/darkroom/workflows', import.meta.url),
)
const bundlerPath = fileURLToPath(new URL('./bundleWorkflows.ts', import.meta.url))
const bundleTimeoutMs = 60_000
const bundleBytesMax = 64 * 1024 * 1024

/** All folders from which a workflow may import. A change in any file of these folders needs a new bundle. */
const sourceFolders = ['../../../workflows/', '../../domain/'].map(
  (folder) => new URL(folder, import.meta.url),
)

/**
 * Returns the workflow code of this checkout as one script for the worker's sandbox. Making it takes seconds
 * and some 150 MiB, so a process of its own makes it, and it is cached. The name of the cached script contains
 * a digest of the sources and of the SDK's version. If the cache cannot be written, every call makes the script.
 */
export async function workflowBundle(options: BundleOptions = {}): Promise<WorkflowBundle> {
  const { cacheDir = checkoutCacheDir, traced = false } = options
  const name = `${traced ? 'traced-' : ''}${await sourcesDigest()}.js`
  const cached = await readFile(join(cacheDir, name), 'utf8').catch(() => undefined)
  if (cached !== undefined) return { code: cached }
  const code = await bundle(traced)
  await keep(cacheDir, name, code).catch(() => {})
  return { code }
}

async function bundle(traced: boolean): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [bundlerPath, ...(traced ? ['--traced'] : [])],
    { timeout: bundleTimeoutMs, maxBuffer: bundleBytesMax, env: {} },
  )
  return stdout
}

/** Writes under another name and then renames, so that another process never reads an incomplete script. */
async function keep(cacheDir: string, name: string, code: string): Promise<void> {
  await mkdir(cacheDir, { recursive: true })
  const temporary = join(cacheDir, `.${name}.${process.pid}`)
  await writeFile(temporary, code)
  await rename(temporary, join(cacheDir, name))
}

async function sourcesDigest(): Promise<string> {
  const hash = createHash('sha256').update(sdkVersion())
  for (const folder of sourceFolders) {
    const found = await readdir(folder, { recursive: true })
    const names = found.filter((name) => name.endsWith('.ts')).toSorted()
    for (const name of names) hash.update(name).update(await readFile(new URL(name, folder)))
  }
  return hash.digest('hex').slice(0, 32)
}

function sdkVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@temporalio/worker/package.json')
  return JSON.stringify(manifest)
}
