import type { Logger } from '@temporalio/worker'
import { bundleWorkflowCode } from '@temporalio/worker'
import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defined } from '../../domain/defined.ts'

export type WorkflowBundle = { readonly code: string }

type BundleOptions = {
  readonly cacheDir?: string
  readonly logger?: Logger
  /** True adds `workflows/traceRun.ts`, which reports to the worker how each run ends. */
  readonly traced?: boolean
}

const workflowsPath = fileURLToPath(new URL('../../../workflows/allWorkflows.ts', import.meta.url))
const tracerPath = fileURLToPath(new URL('../../../workflows/traceRun.ts', import.meta.url))

/** All folders from which a workflow may import. A change in any file of these folders needs a new bundle. */
const sourceFolders = ['../../../workflows/', '../../domain/'].map(
  (folder) => new URL(folder, import.meta.url),
)

/**
 * Bundles the workflow code of this checkout into one script for the worker's sandbox. Because bundling takes
 * seconds, the script is cached in `cacheDir`. Its name contains a digest of the sources and of the SDK's
 * version. Without `cacheDir`, every call makes a new bundle.
 */
export async function workflowBundle(options: BundleOptions): Promise<WorkflowBundle> {
  const { cacheDir, traced } = options
  if (cacheDir === undefined) return bundle(options)
  const variant = traced === true ? 'traced-' : ''
  const path = join(cacheDir, `workflows-${variant}${await sourcesDigest()}.js`)
  const cached = await readFile(path, 'utf8').catch(() => undefined)
  if (cached !== undefined) return { code: cached }
  const made = await bundle(options)
  await mkdir(cacheDir, { recursive: true })
  // Written under another name and then renamed, so that a second process never reads an incomplete script.
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, made.code)
  await rename(temporary, path)
  return made
}

async function bundle({ traced, logger }: BundleOptions): Promise<WorkflowBundle> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    ...(traced === true ? { workflowInterceptorModules: [tracerPath] } : {}),
    ...defined({ logger }),
  })
  return { code }
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
