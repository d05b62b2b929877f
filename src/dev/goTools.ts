import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { runCommand } from './command.ts'
import { lockFile, makePrivateFolder } from './dataDir.ts'
import type { Show } from './terminal.ts'

/** A Go module with pinned versions, and the programs to build from it. */
export type GoTools = {
  /** A name such as `temporal`, used in the folder name in the cache. */
  readonly name: string
  /** The same for people, such as `Temporal's server`. */
  readonly title: string
  /** The folder that contains go.mod and go.sum. */
  readonly moduleDir: string
  readonly tools: readonly { readonly name: string; readonly goPackage: string }[]
}

/** `built`: the folder of the programs, whose name identifies their version. `failed`: why there are none. */
export type GoBuild =
  | { readonly kind: 'built'; readonly binDir: string }
  | { readonly kind: 'failed'; readonly why: string }

const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 10_000
/** A build leaves the processors to the service, which already makes images. */
const aside = ['nice', '-n', '10'] as const
const reasonCharsMax = 300

/**
 * Returns the cache folder that all checkouts of one user share: $XDG_CACHE_HOME/darkroom, or
 * ~/.cache/darkroom.
 */
export function userCacheDir(): string {
  const { env } = process
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'darkroom')
}

/**
 * Finds the programs in the user's cache, or builds them there. The folder's name contains a hash of the
 * pinned versions and the platform. When two processes build at the same time, the second one waits for the
 * first. The folder gets its final name only when all programs are in it. Throws `StartError` when another
 * user owns the cache, because that user could replace the programs.
 */
export async function buildGoTools(given: GoTools, show: Show): Promise<GoBuild> {
  const binDir = join(userCacheDir(), `${given.name}-${moduleHash(given)}`)
  const built = { kind: 'built', binDir } as const
  await makePrivateFolder(userCacheDir(), 'XDG_CACHE_HOME')
  if (existsSync(binDir)) return built
  const go = await runCommand('go', ['version'], { env: process.env, timeoutMs: versionTimeoutMs })
  if (!go.ok) return { kind: 'failed', why: 'Go is not installed' }
  const lock = await lockFile(`${binDir}.lock`, {
    timeoutMs: buildTimeoutMs,
    onWait: () => show(`Waiting for another process, which builds ${given.title}`),
  })
  if (lock === undefined) return { kind: 'failed', why: 'another process builds for too long' }
  try {
    return existsSync(binDir) ? built : ((await build(given, binDir, show)) ?? built)
  } finally {
    lock.release()
  }
}

function moduleHash({ moduleDir, tools }: GoTools): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(moduleDir, file)))
  hash.update(JSON.stringify(tools)).update(`${process.platform}-${process.arch}`)
  return hash.digest('hex').slice(0, 16)
}

/**
 * Builds all programs into `binDir`. Returns why that failed, or `undefined`. Shows how many of all packages are built.
 * What a killed build has built is in Go's own cache, and counts as built.
 */
async function build(
  { title, moduleDir, tools }: GoTools,
  binDir: string,
  show: Show,
): Promise<GoBuild | undefined> {
  let onOutput: (text: string) => void = () => undefined
  const go = async (...args: readonly string[]) => {
    const ran = await runCommand('go', args, {
      // Go flags and workspaces of this machine must not change the pinned build. With GOTOOLCHAIN=auto, a Go
      // that is too old downloads the version that go.mod names.
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'auto' },
      within: aside,
      cwd: moduleDir,
      timeoutMs: buildTimeoutMs,
      onOutput: (text) => onOutput(text),
    })
    const end = ran.output.slice(-reasonCharsMax).replaceAll('\n', ' ')
    return { ...ran, why: `go ${args[0]} failed (${ran.end}): ${end}` }
  }
  // The name contains the process id, because the compiler of a killed start may still write to its own draft.
  const draft = `${binDir}.building-${process.pid}`
  for (const each of readdirSync(dirname(binDir))) {
    if (!each.startsWith(`${basename(binDir)}.building`)) continue
    await rm(join(dirname(binDir), each), { recursive: true, force: true })
  }
  await mkdir(draft)
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', '-s -w']
  show(`Fetching the sources of ${title}`)
  const packages = tools.map(({ goPackage }) => goPackage)
  // One letter for each package: whether it must be built.
  const letters = '{{if .Stale}}s{{else}}b{{end}}'
  const listed = await go('list', ...flags, '-deps', '-f', letters, ...packages)
  if (!listed.ok) return { kind: 'failed', why: listed.why }
  const all = listed.output.match(/^[sb]$/gm)?.length ?? 0
  let built = listed.output.match(/^b$/gm)?.length ?? 0
  onOutput = (text) => {
    // With -v, Go writes a line for each package that it builds.
    built = Math.min(built + (text.match(/\n/g)?.length ?? 0), all)
    show(`Building ${title}`, `${built} of ${all} packages`)
  }
  for (const { name, goPackage } of tools) {
    const made = await go('build', '-v', ...flags, '-o', join(draft, name), goPackage)
    if (!made.ok) return { kind: 'failed', why: made.why }
  }
  await rename(draft, binDir)
  return undefined
}
