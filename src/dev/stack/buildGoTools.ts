import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { waitForLock } from '../../../tools/fileLock.mjs'
import type { Environment } from './environment.ts'
import { runCommand } from './runCommand.ts'
import type { Say } from './say.ts'

/** One program: the name of its binary, the Go package it is built from, and build tags. */
export type GoTool = { name: string; goPackage: string; tags?: readonly string[] }

/** A pinned Go module and the programs to build from it. */
export type GoTools = {
  /** Shown to people and used for the cache's name, such as `temporal`. */
  title: string
  /** Folder of its go.mod and go.sum. */
  moduleDir: string
  tools: readonly GoTool[]
}

/** Binaries that are there (in `binDir`), or why they are not. */
export type GoBuild =
  | { kind: 'built'; binDir: string; key: string }
  | { kind: 'failed'; why: string }

const buildTimeoutMs = 30 * 60_000
const progressEveryMs = 20_000
const versionTimeoutMs = 10_000

/** Where programs are kept between checkouts: $XDG_CACHE_HOME/darkroom, or ~/.cache/darkroom. */
export const userCacheDir = (env: Environment): string =>
  join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'darkroom')

/**
 * Builds the programs once into the user's cache, under a name made of the pinned versions and the
 * platform; afterwards they are there at once. Two builders at a time are safe: one builds, the other
 * waits, and the folder appears only when it is whole.
 */
export const buildGoTools = async (
  { title, moduleDir, tools }: GoTools,
  { env, say }: { env: Environment; say: Say },
): Promise<GoBuild> => {
  const key = moduleKey(moduleDir, tools)
  const binDir = join(userCacheDir(env), `${title}-${key}`)
  if (existsSync(binDir)) return { kind: 'built', binDir, key }
  const go = await runCommand('go', ['version'], { env, timeoutMs: versionTimeoutMs })
  if (!go.ok) return { kind: 'failed', why: 'Go is not installed' }
  await mkdir(userCacheDir(env), { recursive: true })
  const lock = await waitForLock(`${binDir}.lock`, {
    timeoutMs: buildTimeoutMs,
    onWait: (pid) => say(`Waiting for process ${pid}, which is building ${title}…`),
  })
  // Of this process alone: the compiler of a start that was killed may still be writing into its own.
  const draft = `${binDir}.building-${process.pid}`
  try {
    if (existsSync(binDir)) return { kind: 'built', binDir, key }
    await removeDrafts(binDir)
    await mkdir(draft)
    say(`Building ${title} from the pinned Go module, once (about 3 minutes on 2 cores)…`)
    for (const tool of tools) {
      const why = await build(tool, { moduleDir, draft, env, say })
      if (why !== undefined) return { kind: 'failed', why }
    }
    await rename(draft, binDir)
    return { kind: 'built', binDir, key }
  } finally {
    await rm(draft, { recursive: true, force: true })
    lock.release()
  }
}

const removeDrafts = async (binDir: string): Promise<void> => {
  const parent = dirname(binDir)
  const drafts = readdirSync(parent).filter((name) =>
    name.startsWith(`${basename(binDir)}.building`),
  )
  await Promise.all(drafts.map((name) => rm(join(parent, name), { recursive: true, force: true })))
}

const moduleKey = (moduleDir: string, tools: readonly GoTool[]): string => {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDir, file)))
  hash.update(JSON.stringify(tools)).update(`${process.platform}-${process.arch}`)
  return hash.digest('hex').slice(0, 16)
}

const build = async (
  { name, goPackage, tags = [] }: GoTool,
  { moduleDir, draft, env, say }: { moduleDir: string; draft: string; env: Environment; say: Say },
): Promise<string | undefined> => {
  const startedAt = Date.now()
  const seconds = (): number => Math.round((Date.now() - startedAt) / 1000)
  const ticker = setInterval(() => say(`  still building ${name}, ${seconds()} s`), progressEveryMs)
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', '-s -w']
  if (tags.length > 0) flags.push('-tags', tags.join(','))
  const built = await runCommand('go', ['build', ...flags, '-o', join(draft, name), goPackage], {
    // Flags and workspaces of the machine do not concern the pinned module; a Go that is too old
    // fetches the one that go.mod names.
    env: { ...env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'auto' },
    cwd: moduleDir,
    timeoutMs: buildTimeoutMs,
  }).finally(() => clearInterval(ticker))
  if (!built.ok) return `go build ${goPackage} failed (${built.end}): ${lastLines(built.output)}`
  say(`  ${name} built in ${seconds()} s`)
  return undefined
}

const lastLines = (output: string): string => output.split('\n').slice(-5).join('\n')
