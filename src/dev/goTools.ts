import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import type { Environment } from '../config.ts'
import type { Say } from './child.ts'
import { runCommand } from './child.ts'
import { lockFile, makePrivateFolder } from './dataDir.ts'

/** A Go module with pinned versions, and the programs to build from it. */
export type GoTools = {
  /** A name such as `temporal`, used in messages and in the folder name in the cache. */
  readonly title: string
  /** The folder that contains go.mod and go.sum. */
  readonly moduleDir: string
  readonly tools: readonly { readonly name: string; readonly goPackage: string }[]
}

/**
 * `built`: the folder of the programs, and a key for their version. `failed`: the reason why there are none.
 */
export type GoBuild =
  | { readonly kind: 'built'; readonly binDir: string; readonly key: string }
  | { readonly kind: 'failed'; readonly why: string }

type BuildOptions = { readonly env: Environment; readonly say: Say }

const buildTimeoutMs = 30 * 60_000
const progressIntervalMs = 20_000
const versionTimeoutMs = 10_000
const errorLinesMax = 5

/**
 * Returns the cache folder that all checkouts of one user share: $XDG_CACHE_HOME/darkroom, or ~/.cache/darkroom.
 */
export function userCacheDir(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'darkroom')
}

/**
 * Finds the programs in the user's cache, or builds them there. The folder's name contains a hash of the pinned
 * versions and the platform. When two processes build at the same time, the second one waits for the first. The folder
 * gets its final name only when all programs are in it. Throws `StartError` when another user owns the cache, because
 * that user could replace the programs.
 */
export async function buildGoTools(given: GoTools, options: BuildOptions): Promise<GoBuild> {
  const { title, tools } = given
  const { env, say } = options
  const key = moduleKey(given)
  const cacheDir = userCacheDir(env)
  const binDir = join(cacheDir, `${title}-${key}`)
  await makePrivateFolder(cacheDir, 'XDG_CACHE_HOME')
  if (existsSync(binDir)) return { kind: 'built', binDir, key }
  const go = await runCommand('go', ['version'], { env, timeoutMs: versionTimeoutMs })
  if (!go.ok) return { kind: 'failed', why: 'Go is not installed' }
  const lock = await lockFile(`${binDir}.lock`, {
    timeoutMs: buildTimeoutMs,
    onWait: () => say(`Waiting for another process, which is building ${title}…`),
  })
  if (lock === undefined) return { kind: 'failed', why: 'another process builds for too long' }
  // The name contains the process id, because the compiler of a killed start may still write to its own draft.
  const draft = `${binDir}.building-${process.pid}`
  try {
    if (existsSync(binDir)) return { kind: 'built', binDir, key }
    const drafts = readdirSync(cacheDir).filter((name) =>
      name.startsWith(`${basename(binDir)}.building`),
    )
    for (const name of drafts) await rm(join(cacheDir, name), { recursive: true, force: true })
    await mkdir(draft)
    say(`Building ${title} from the pinned Go module, once (about 3 minutes on 2 cores)…`)
    for (const tool of tools) {
      const why = await build(tool, { ...options, moduleDir: given.moduleDir, draft })
      if (why !== undefined) return { kind: 'failed', why }
    }
    await rename(draft, binDir)
    return { kind: 'built', binDir, key }
  } finally {
    await rm(draft, { recursive: true, force: true })
    lock.release()
  }
}

function moduleKey({ moduleDir, tools }: GoTools): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDir, file)))
  hash.update(JSON.stringify(tools)).update(`${process.platform}-${process.arch}`)
  return hash.digest('hex').slice(0, 16)
}

/** Builds one program into the draft folder. Returns the reason when the build failed, otherwise `undefined`. */
async function build(
  { name, goPackage }: GoTools['tools'][number],
  options: BuildOptions & { readonly moduleDir: string; readonly draft: string },
): Promise<string | undefined> {
  const { moduleDir, draft, env, say } = options
  const startedAtMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedAtMs) / 1000)
  const progress = setInterval(
    () => say(`  still building ${name}, ${seconds()} s`),
    progressIntervalMs,
  )
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', '-s -w']
  const built = await runCommand('go', ['build', ...flags, '-o', join(draft, name), goPackage], {
    // Go flags and workspaces of this machine must not change the pinned build. With GOTOOLCHAIN=auto, a Go that is
    // too old downloads the version that go.mod names.
    env: { ...env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'auto' },
    cwd: moduleDir,
    timeoutMs: buildTimeoutMs,
  }).finally(() => clearInterval(progress))
  if (!built.ok) {
    const lines = built.output.split('\n').slice(-errorLinesMax).join('\n')
    return `go build ${goPackage} failed (${built.end}): ${lines}`
  }
  say(`  ${name} built in ${seconds()} s`)
  return undefined
}
