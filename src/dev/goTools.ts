import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
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

/**
 * `built`: the folder of the programs, and a key for their version. `failed`: the reason why there are none.
 */
export type GoBuild =
  | { readonly kind: 'built'; readonly binDir: string; readonly key: string }
  | { readonly kind: 'failed'; readonly why: string }

const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 10_000
/** A build leaves the processors to the service, which already makes images. */
const aside = ['nice', '-n', '10'] as const
const reasonCharsMax = 300
/** The share of the packages from which on the time that is left can be told. */
const knownFrom = 0.05

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
  const { name, title } = given
  const { env } = process
  const key = moduleKey(given)
  const cacheDir = userCacheDir()
  const binDir = join(cacheDir, `${name}-${key}`)
  await makePrivateFolder(cacheDir, 'XDG_CACHE_HOME')
  if (existsSync(binDir)) return { kind: 'built', binDir, key }
  const go = await runCommand('go', ['version'], { env, timeoutMs: versionTimeoutMs })
  if (!go.ok) return { kind: 'failed', why: 'Go is not installed' }
  const lock = await lockFile(`${binDir}.lock`, {
    timeoutMs: buildTimeoutMs,
    onWait: () => show(`Waiting for another process, which builds ${title}`),
  })
  if (lock === undefined) return { kind: 'failed', why: 'another process builds for too long' }
  // The name contains the process id, because the compiler of a killed start may still write to its own
  // draft.
  const draft = `${binDir}.building-${process.pid}`
  try {
    if (existsSync(binDir)) return { kind: 'built', binDir, key }
    const drafts = readdirSync(cacheDir).filter((each) =>
      each.startsWith(`${basename(binDir)}.building`),
    )
    for (const each of drafts) await rm(join(cacheDir, each), { recursive: true, force: true })
    await mkdir(draft)
    const why = await build(given, draft, show)
    if (why !== undefined) return { kind: 'failed', why }
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

/**
 * Builds all programs into the draft folder. Returns the reason when that failed, otherwise `undefined`. Shows how many
 * of all packages are built. What a killed build has built is in Go's own cache, and counts as built.
 */
async function build(
  { title, moduleDir, tools }: GoTools,
  draft: string,
  show: Show,
): Promise<string | undefined> {
  let onOutput: (text: string) => void = () => undefined
  const go = (...args: readonly string[]) =>
    runCommand('go', args, {
      // Go flags and workspaces of this machine must not change the pinned build. With GOTOOLCHAIN=auto, a Go
      // that is too old downloads the version that go.mod names.
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'auto' },
      within: aside,
      cwd: moduleDir,
      timeoutMs: buildTimeoutMs,
      onOutput: (text) => onOutput(text),
    })
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', '-s -w']
  show(`Fetching the sources of ${title}`)
  const packages = tools.map(({ goPackage }) => goPackage)
  // One letter for each package: whether it must be built.
  const letters = '{{if .Stale}}s{{else}}b{{end}}'
  const listed = await go('list', ...flags, '-deps', '-f', letters, ...packages)
  if (!listed.ok) return reasonOf('go list', listed)
  const states = listed.output.split('\n').filter((line) => line === 's' || line === 'b')
  const stale = states.filter((state) => state === 's').length
  const startedAtMs = performance.now()
  let built = 0
  onOutput = (text) => {
    // With -v, Go writes a line for each package that it builds.
    built = Math.min(built + (text.match(/\n/g)?.length ?? 0), stale)
    const leftMs = ((performance.now() - startedAtMs) / built) * (stale - built)
    const left = built < stale * knownFrom ? '' : `, about ${duration(leftMs)} left`
    show(
      `Building ${title}`,
      `${states.length - stale + built} of ${states.length} packages${left}`,
    )
  }
  for (const { name, goPackage } of tools) {
    const result = await go('build', '-v', ...flags, '-o', join(draft, name), goPackage)
    if (!result.ok) return reasonOf(`go build ${goPackage}`, result)
  }
  return undefined
}

function duration(ms: number): string {
  const seconds = ms / 1000
  return seconds < 90
    ? `${Math.ceil(Math.max(1, seconds) / 10) * 10} s`
    : `${Math.round(seconds / 60)} min`
}

type Failed = { readonly end: string; readonly output: string }

function reasonOf(command: string, { end, output }: Failed): string {
  return `${command} failed (${end}): ${output.slice(-reasonCharsMax).replaceAll('\n', ' ')}`
}
