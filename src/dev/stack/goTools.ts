import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { waitForLock } from '../../../tools/fileLock.mjs'
import type { Environment } from '../../config.ts'
import { makePrivateFolder } from './privateFolder.ts'
import { runCommand } from './runCommand.ts'
import type { Say } from './startError.ts'

/** One program: the name of its binary, the Go package from which it is built, and build tags. */
export type GoTool = {
  readonly name: string
  readonly goPackage: string
  readonly tags?: readonly string[]
}

/** A Go module with pinned versions, and the programs to build from it. */
export type GoTools = {
  /** A name such as `temporal`, used in messages and in the folder name in the cache. */
  readonly title: string
  /** The folder that contains go.mod and go.sum. */
  readonly moduleDir: string
  readonly tools: readonly GoTool[]
}

/**
 * `built`: the folder of the programs, and a key for their version. `failed`: the reason why there are none.
 */
export type GoBuild =
  | { readonly kind: 'built'; readonly binDir: string; readonly key: string }
  | { readonly kind: 'failed'; readonly why: string }

const buildTimeoutMs = 30 * 60_000
const progressIntervalMs = 20_000
const versionTimeoutMs = 10_000
const errorLinesMax = 5

/**
 * Returns the cache folder that all checkouts of one user share: $XDG_CACHE_HOME/darkroom, or
 * ~/.cache/darkroom.
 */
export function userCacheDir(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'darkroom')
}

/**
 * Finds the programs in the user's cache, or builds them there. The folder's name contains a hash of the
 * pinned versions and the platform. When two processes build at the same time, the second one waits for the
 * first. The folder gets its final name only when all programs are in it. Throws `StartError` when another
 * user owns the cache, because that user could replace the programs.
 */
export async function buildGoTools(
  { title, moduleDir, tools }: GoTools,
  { env, say }: { readonly env: Environment; readonly say: Say },
): Promise<GoBuild> {
  const key = moduleKey(moduleDir, tools)
  const cacheDir = userCacheDir(env)
  const binDir = join(cacheDir, `${title}-${key}`)
  await makePrivateFolder(cacheDir, 'XDG_CACHE_HOME')
  if (existsSync(binDir)) return { kind: 'built', binDir, key }
  const go = await runCommand('go', ['version'], { env, timeoutMs: versionTimeoutMs })
  if (!go.ok) return { kind: 'failed', why: 'Go is not installed' }
  const lock = await waitForLock(`${binDir}.lock`, {
    timeoutMs: buildTimeoutMs,
    onWait: (pid) => say(`Waiting for process ${pid}, which is building ${title}…`),
  })
  // The name contains the process id, because the compiler of an earlier, killed start may still write to its
  // own draft.
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

async function removeDrafts(binDir: string): Promise<void> {
  const parent = dirname(binDir)
  const drafts = readdirSync(parent).filter((name) =>
    name.startsWith(`${basename(binDir)}.building`),
  )
  await Promise.all(drafts.map((name) => rm(join(parent, name), { recursive: true, force: true })))
}

function moduleKey(moduleDir: string, tools: readonly GoTool[]): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDir, file)))
  hash.update(JSON.stringify(tools)).update(`${process.platform}-${process.arch}`)
  return hash.digest('hex').slice(0, 16)
}

/**
 * Builds one program into the draft folder. Returns the reason when the build failed, otherwise `undefined`.
 */
async function build(
  { name, goPackage, tags = [] }: GoTool,
  options: {
    readonly moduleDir: string
    readonly draft: string
    readonly env: Environment
    readonly say: Say
  },
): Promise<string | undefined> {
  const { moduleDir, draft, env, say } = options
  const startedAtMs = Date.now()
  const seconds = () => Math.round((Date.now() - startedAtMs) / 1000)
  const progress = setInterval(
    () => say(`  still building ${name}, ${seconds()} s`),
    progressIntervalMs,
  )
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', '-s -w']
  if (tags.length > 0) flags.push('-tags', tags.join(','))
  const built = await runCommand('go', ['build', ...flags, '-o', join(draft, name), goPackage], {
    // Go flags and workspaces of this machine must not change the pinned build. With GOTOOLCHAIN=auto, a Go
    // that is too old downloads the version that go.mod names.
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
