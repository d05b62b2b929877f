import { existsSync, readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../config.ts'
import type { Launch, Say } from './child.ts'
import { runCommand, StartError } from './child.ts'
import { makePrivateFolder } from './dataDir.ts'
import type { GoTools } from './goTools.ts'
import { buildGoTools, userCacheDir } from './goTools.ts'

/**
 * What runs as Temporal. `given`: the operator's own. `server`: the real server and its tools are in the folder `binDir`, and `key`
 * identifies their version. `dev-server`: only the Temporal CLI `file` was found, and its development server is used.
 */
export type TemporalPrograms =
  | { readonly kind: 'given'; readonly address: string }
  | { readonly kind: 'server'; readonly binDir: string; readonly key: string }
  | { readonly kind: 'dev-server'; readonly file: string }

/** The Temporal programs, in the versions that tools/temporal/go.mod pins. */
export const temporalTools: GoTools = {
  title: 'temporal',
  moduleDir: fileURLToPath(new URL('../../tools/temporal', import.meta.url)),
  tools: [
    { name: 'temporal-server', goPackage: 'go.temporal.io/server/cmd/server' },
    { name: 'temporal-sql-tool', goPackage: 'go.temporal.io/server/cmd/tools/sql' },
    { name: 'temporal-ui', goPackage: 'github.com/temporalio/ui-server/v2/cmd/server' },
  ],
}

const versionTimeoutMs = 10_000
const downloadTimeoutMs = 120_000
/** Limit for an error message of the SDK. The message contains a long URL twice. */
const reasonCharsMax = 120

/**
 * Finds Temporal, unless the operator has given its address, and prints what it found. First choice is the real server, built with Go. Second is `temporal` on
 * PATH. Third is the CLI that the SDK downloads. When there is none, throws `StartError` that says what to install.
 */
export async function findTemporal(
  givenAddress: string | undefined,
  { env, say }: Pick<Launch, 'env' | 'say'>,
): Promise<TemporalPrograms> {
  if (givenAddress !== undefined) return { kind: 'given', address: givenAddress }
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
  const downloaded = await downloadCli(env, say)
  if ('file' in downloaded) {
    say(`Temporal: the development server that the SDK downloads, because ${built.why}.`)
    return { kind: 'dev-server', file: downloaded.file }
  }
  throw new StartError(
    [
      'There is no Temporal server to run. Do one of the following:',
      `  - install Go 1.21 or later, to build the real server (now: ${built.why})`,
      '  - install the Temporal CLI, so that `temporal` is on PATH (now: it is not)',
      `  - allow this machine to download the Temporal CLI (now: ${downloaded.why})`,
      '  - set TEMPORAL_ADDRESS to a Temporal server of your own',
    ].join('\n'),
  )
}

/** Finds the Temporal CLI in the user's cache, or downloads it there with the SDK's test library. */
async function downloadCli(
  env: Environment,
  say: Say,
): Promise<{ readonly file: string } | { readonly why: string }> {
  const folder = join(userCacheDir(env), 'temporal-cli')
  const find = () =>
    existsSync(folder)
      ? readdirSync(folder).find((entry) => entry.startsWith('temporal'))
      : undefined
  try {
    await makePrivateFolder(userCacheDir(env), 'XDG_CACHE_HOME')
    if (find() === undefined) {
      say('Downloading the Temporal CLI…')
      await mkdir(folder, { recursive: true })
      const timeout = sleep(downloadTimeoutMs, 'timeout' as const)
      if ((await Promise.race([startOnce(folder), timeout])) === 'timeout') {
        return { why: 'the download takes too long' }
      }
    }
  } catch (error) {
    return { why: String(error).slice(0, reasonCharsMax) }
  }
  const name = find()
  return name === undefined ? { why: 'the download left no file' } : { file: join(folder, name) }
}

/** The test library downloads the CLI only to start a server. That one lacks our flags, so it is stopped at once. */
async function startOnce(downloadDir: string): Promise<void> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing')
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  })
  await environment.teardown()
}
