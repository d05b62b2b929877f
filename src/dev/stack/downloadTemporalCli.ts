import { existsSync, readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { userCacheDir } from './buildGoTools.ts'
import type { Environment } from './environment.ts'
import type { Say } from './say.ts'

const downloadTimeoutMs = 120_000
/** The SDK's message names its URL several times over. */
const reasonCharsMax = 120

/**
 * The Temporal command line program as the SDK's test library downloads it, kept in the user's
 * cache. That library starts a server with it; it is ended at once, since ours runs with other flags.
 */
export const downloadTemporalCli = async (
  env: Environment,
  say: Say,
): Promise<{ kind: 'file'; file: string } | { kind: 'failed'; why: string }> => {
  const folder = join(userCacheDir(env), 'temporal-cli')
  const kept = firstFile(folder)
  if (kept !== undefined) return { kind: 'file', file: kept }
  say('Downloading the Temporal command line program…')
  try {
    await mkdir(folder, { recursive: true })
    const given = await Promise.race([startOnce(folder), sleep(downloadTimeoutMs, 'late' as const)])
    if (given === 'late') return { kind: 'failed', why: 'the download takes too long' }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { kind: 'failed', why: message.slice(0, reasonCharsMax) }
  }
  const file = firstFile(folder)
  return file === undefined
    ? { kind: 'failed', why: 'the download left no file' }
    : { kind: 'file', file }
}

const startOnce = async (downloadDir: string): Promise<'ended'> => {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing')
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  })
  await environment.teardown()
  return 'ended'
}

const firstFile = (folder: string): string | undefined => {
  if (!existsSync(folder)) return undefined
  const name = readdirSync(folder).find((entry) => entry.startsWith('temporal'))
  return name === undefined ? undefined : join(folder, name)
}
