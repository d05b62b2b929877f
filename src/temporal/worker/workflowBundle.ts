import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '@temporalio/worker'
import { bundleWorkflowCode } from '@temporalio/worker'
import { defined } from '../../domain/defined.ts'

export type WorkflowBundle = { readonly code: string }

type BundleOptions = {
  readonly cacheDir?: string
  readonly logger?: Logger
  /** Runs tell their worker how they ended: `workflows/traceRun.ts`. */
  readonly traced?: boolean
}

const workflowsPath = fileURLToPath(new URL('../../../workflows/imageTask.ts', import.meta.url))
const tracerPath = fileURLToPath(new URL('../../../workflows/traceRun.ts', import.meta.url))

/** Everything a workflow may import (design section 2), so that a change of any of it bundles anew. */
const sourceFolders = ['../../../workflows/', '../../domain/'].map(
  (folder) => new URL(folder, import.meta.url),
)

/**
 * The workflow code of this checkout as one script for the worker's sandbox. Bundling takes seconds, so
 * the script is kept in `cacheDir` under the digest of its sources and of the SDK's version.
 */
export async function workflowBundle(options: BundleOptions): Promise<WorkflowBundle> {
  const { cacheDir, traced } = options
  if (cacheDir === undefined) return bundle(options)
  const variant = traced === true ? 'traced-' : ''
  const path = join(cacheDir, `workflows-${variant}${await sourcesDigest()}.js`)
  const kept = await readFile(path, 'utf8').catch(() => undefined)
  if (kept !== undefined) return { code: kept }
  const made = await bundle(options)
  await mkdir(cacheDir, { recursive: true })
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
