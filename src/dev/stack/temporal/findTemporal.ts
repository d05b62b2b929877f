import { existsSync, readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../../config.ts'
import type { Result } from '../../../domain/result.ts'
import { fail, succeed } from '../../../domain/result.ts'
import type { GoTools } from '../goTools.ts'
import { buildGoTools, userCacheDir } from '../goTools.ts'
import { makePrivateFolder } from '../privateFolder.ts'
import { runCommand } from '../runCommand.ts'
import type { Say } from '../startError.ts'
import { StartError } from '../startError.ts'

/**
 * The Temporal programs of this machine. `server`: the real server and its tools are in the folder `binDir`,
 * and `key` identifies their version. `dev-server`: only the Temporal CLI `file` was found, and its
 * development server is used.
 */
export type TemporalPrograms =
  | { readonly kind: 'server'; readonly binDir: string; readonly key: string }
  | { readonly kind: 'dev-server'; readonly file: string }

/** The Temporal programs, in the versions that tools/temporal/go.mod pins. */
export const temporalTools: GoTools = {
  title: 'temporal',
  moduleDir: fileURLToPath(new URL('../../../../tools/temporal', import.meta.url)),
  tools: [
    { name: 'temporal-server', goPackage: 'go.temporal.io/server/cmd/server' },
    { name: 'temporal-sql-tool', goPackage: 'go.temporal.io/server/cmd/tools/sql' },
    { name: 'temporal-ui', goPackage: 'github.com/temporalio/ui-server/v2/cmd/server' },
    { name: 'temporal', goPackage: 'github.com/temporalio/cli/cmd/temporal' },
  ],
}

const versionTimeoutMs = 10_000
const downloadTimeoutMs = 120_000
/** Limit for an error message of the SDK. The message contains a long URL twice. */
const reasonCharsMax = 120

/**
 * Finds Temporal and prints what it found. First choice is the real server, built with Go. Second is
 * `temporal` on PATH. Third is the CLI that the SDK downloads. When there is none, throws `StartError` that
 * says what to install.
 */
export async function findTemporal(env: Environment, say: Say): Promise<TemporalPrograms> {
  const built = await buildGoTools(temporalTools, { env, say })
  if (built.kind === 'built') {
    say('Temporal: the real server, on PostgreSQL.')
    return { kind: 'server', binDir: built.binDir, key: built.key }
  }
  const onPath = await runCommand('temporal', ['--version'], { env, timeoutMs: versionTimeoutMs })
  if (onPath.ok) {
    say(`Temporal: the development server of ${onPath.output} (on PATH), because ${built.why}.`)
    return { kind: 'dev-server', file: 'temporal' }
  }
  const downloaded = await downloadTemporalCli(env, say)
  if (downloaded.ok) {
    say(`Temporal: the development server that the SDK downloads, because ${built.why}.`)
    return { kind: 'dev-server', file: downloaded.value }
  }
  throw new StartError(
    [
      'There is no Temporal server to run. Do one of the following:',
      `  - install Go 1.21 or later, to build the real server (now: ${built.why})`,
      '  - install the Temporal CLI, so that `temporal` is on PATH (now: it is not)',
      `  - allow this machine to download the Temporal CLI (now: ${downloaded.failure})`,
      '  - set TEMPORAL_ADDRESS to a Temporal server of your own',
    ].join('\n'),
  )
}

/**
 * Finds the Temporal CLI in the user's cache, or downloads it there with the SDK's test library. Returns the
 * path of the program, or the reason why there is none.
 */
async function downloadTemporalCli(env: Environment, say: Say): Promise<Result<string, string>> {
  const cacheDir = userCacheDir(env)
  const folder = join(cacheDir, 'temporal-cli')
  try {
    await makePrivateFolder(cacheDir, 'XDG_CACHE_HOME')
    const kept = findCli(folder)
    if (kept !== undefined) return succeed(kept)
    say('Downloading the Temporal CLI…')
    await mkdir(folder, { recursive: true })
    const timeout = sleep(downloadTimeoutMs, 'timeout' as const)
    if ((await Promise.race([startOnce(folder), timeout])) === 'timeout') {
      return fail('the download takes too long')
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return fail(message.slice(0, reasonCharsMax))
  }
  const file = findCli(folder)
  return file === undefined ? fail('the download left no file') : succeed(file)
}

/**
 * Downloads the CLI. The test library downloads it only to start a server. We do not need that server,
 * because it lacks our flags, so it is stopped at once.
 */
async function startOnce(downloadDir: string): Promise<void> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing')
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  })
  await environment.teardown()
}

function findCli(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const name = readdirSync(folder).find((entry) => entry.startsWith('temporal'))
  return name === undefined ? undefined : join(folder, name)
}
