import { readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Launch } from './child.ts'
import { StartError } from './command.ts'
import type { GoTools } from './goTools.ts'
import { buildGoTools, userCacheDir } from './goTools.ts'

/**
 * What runs as Temporal. `server`: the real server and its tools are in the folder `binDir`, whose name identifies their
 * version. `dev-server`: the development server of the Temporal CLI `file`.
 */
export type TemporalPrograms =
  | { readonly kind: 'server'; readonly binDir: string }
  | { readonly kind: 'dev-server'; readonly file: string }

/** The Temporal programs, in the versions that tools/temporal/go.mod pins. */
export const temporalTools: GoTools = {
  name: 'temporal',
  title: "Temporal's server",
  moduleDir: fileURLToPath(new URL('../../tools/temporal', import.meta.url)),
  tools: [
    { name: 'temporal-server', goPackage: 'go.temporal.io/server/cmd/server' },
    { name: 'temporal-sql-tool', goPackage: 'go.temporal.io/server/cmd/tools/sql' },
    { name: 'temporal-ui', goPackage: 'github.com/temporalio/ui-server/v2/cmd/server' },
  ],
}

const downloadTimeoutMs = 120_000
/** Limit for an error message of the SDK. The message contains a long URL twice. */
const reasonCharsMax = 120

/**
 * Finds Temporal's programs or builds them with Go, which can take minutes. Without Go, takes the development server that
 * Temporal's SDK downloads. Throws `StartError` when there is none.
 */
export async function findTemporal({
  show,
  stopping,
}: Pick<Launch, 'show' | 'stopping'>): Promise<TemporalPrograms> {
  const built = await buildGoTools(temporalTools, show)
  if (built.kind === 'built') return { kind: 'server', binDir: built.binDir }
  // Ctrl-C ends the compiler too.
  stopping.throwIfAborted()
  show('Downloading the Temporal CLI')
  try {
    return { kind: 'dev-server', file: await downloadCli(join(userCacheDir(), 'temporal-cli')) }
  } catch (error) {
    const why = String(error).slice(0, reasonCharsMax).replaceAll('\n', ' ')
    throw new StartError(
      `its server is not built (${built.why}), and the development server of Temporal's SDK cannot be downloaded ` +
        `(${why}). Install Go 1.21 or later, or set TEMPORAL_ADDRESS`,
    )
  }
}

/** Finds the Temporal CLI in the user's cache, or downloads it there with the SDK's test library. */
async function downloadCli(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const find = () => readdirSync(folder).find((entry) => /^temporal.*(?<!downloading)$/.test(entry))
  if (find() === undefined) {
    const timeout = sleep(downloadTimeoutMs, undefined, { ref: false })
    await Promise.race([startOnce(folder), timeout])
  }
  const name = find()
  if (name === undefined) throw new Error(`no file after ${downloadTimeoutMs / 1000} s`)
  return join(folder, name)
}

/**
 * The test library downloads the CLI only to start a server. That server lacks our flags, so it is stopped at once.
 */
async function startOnce(downloadDir: string): Promise<void> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing')
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  })
  await environment.teardown()
}
