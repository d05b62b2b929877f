import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type WorkflowBundle = { readonly code: string }

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** A folder of the checkout, because other users of the machine cannot write code there. */
const cacheDir = join(root, 'node_modules/.cache/darkroom/workflows')
/** All folders from which a workflow may import. A change in any file of these folders needs a new bundle. */
const sourceFolders = ['workflows', 'src/domain']
const bundler = join(root, 'src/temporal/worker/bundleWorkflows.ts')
const bundleTimeoutMs = 60_000
const bundleBytesMax = 64 * 1024 * 1024

/**
 * Returns the workflow code of this checkout as one script for the worker's sandbox. Making it takes seconds
 * and some 150 MiB, so a process of its own makes it, and it is cached. The name of the cached script contains
 * a digest of the sources and of the SDK's version. If the cache cannot be written, every call makes the script.
 */
export async function workflowBundle(): Promise<WorkflowBundle> {
  const path = join(cacheDir, `${await sourcesDigest()}.js`)
  const cached = await readFile(path, 'utf8').catch(() => undefined)
  if (cached !== undefined) return { code: cached }
  const options = { timeout: bundleTimeoutMs, maxBuffer: bundleBytesMax, env: {} }
  const { stdout: code } = await promisify(execFile)(process.execPath, [bundler], options)
  await keep(path, code).catch(() => {})
  return { code }
}

/** Writes under another name and then renames, so that another process never reads an incomplete script. */
async function keep(path: string, code: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, code)
  await rename(draft, path)
}

async function sourcesDigest(): Promise<string> {
  const sdk = createRequire(import.meta.url).resolve('@temporalio/worker/package.json')
  const hash = createHash('sha256').update(await readFile(sdk))
  for (const folder of sourceFolders) {
    const names = await readdir(join(root, folder), { recursive: true })
    for (const name of names.filter((each) => each.endsWith('.ts')).toSorted()) {
      hash.update(name).update(await readFile(join(root, folder, name)))
    }
  }
  return hash.digest('hex').slice(0, 32)
}
