import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { adoptFresh, ensureInstalled, isMarkedFresh } from '../../tools/install.mjs'
import { tempFolder } from '../support/tempFolder.ts'

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
  write(join(root, 'node_modules/node/bin/node'), '')
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
  rmSync(join(root, 'node_modules/node'), { recursive: true })
  const said: string[] = []
  await ensureInstalled(root, { onlyIfMissing: true, say: (line) => said.push(line) })
  expect(said).toEqual([])
})
