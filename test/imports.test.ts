import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Who may import whom: rooms of ours, and packages. `types:` marks rooms of which only types may come. */
const rules: Readonly<Record<string, readonly string[]>> = {
  'src/domain': [],
  'src/streams': ['src/domain', 'stream-json', 'node'],
  'src/tasks': ['src/domain', 'node'],
  'src/schema': ['src/domain', 'zod'],
  'src/http': [
    'src/tasks',
    'src/schema',
    'src/domain',
    'src/streams',
    'koa',
    '@koa/cors',
    '@koa/router',
    '@fastify/busboy',
    'node',
  ],
  'src/store': ['src/domain', 'pg', 'node'],
  'src/blobs': ['src/domain', '@aws-sdk/client-s3', 'node'],
  'src/upstream': ['src/domain', 'src/streams', 'undici', 'sharp', 'node'],
  'src/temporal': [
    'src/domain',
    'workflows/contract.ts',
    '@temporalio/client',
    '@temporalio/common',
    '@temporalio/envconfig',
    '@temporalio/worker',
    'node',
  ],
  workflows: ['src/domain', '@temporalio/workflow', '@temporalio/common', 'types:activities'],
  activities: [
    'src/tasks',
    'src/domain',
    'workflows/contract.ts',
    '@temporalio/activity',
    '@temporalio/common',
    'node',
  ],
  'src/telemetry': ['src/domain', 'pino', 'prom-client', '@opentelemetry', '@temporalio', 'node'],
  'src/cli': ['src/tasks', 'src/domain', 'commander', 'node'],
  'src/config.ts': ['src/config', 'zod', 'node'],
  'src/config': ['src/domain', 'src/schema/operatorFile.ts', 'zod', 'node'],
}

const rooms = Object.keys(rules)
const files = [...list('src'), ...list('workflows'), ...list('activities')]

function list(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
}

type Import = { readonly target: string; readonly typeOnly: boolean }

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const statement =
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g
  return [...text.matchAll(statement)].map((match) => ({
    target: targetOf(file, match[2] ?? match[3] ?? ''),
    typeOnly: match[1] !== undefined,
  }))
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) {
    return relative(root, resolve(root, dirname(file), specifier))
  }
  return specifier.startsWith('node:') ? 'node' : specifier
}

function within(target: string, place: string): boolean {
  return target === place || target.startsWith(`${place}/`)
}

function mayImport(room: string, { target, typeOnly }: Import): boolean {
  if (within(target, room)) return true
  return (rules[room] ?? []).some((allowed) =>
    allowed.startsWith('types:')
      ? typeOnly && within(target, allowed.slice('types:'.length))
      : within(target, allowed),
  )
}

describe('the rooms of the house', () => {
  it.each(rooms)('%s imports only what its row of the table allows', (room) => {
    const inside = files.filter((file) => within(file, room))
    expect(inside.length).toBeGreaterThan(0)
    const broken = inside.flatMap((file) =>
      importsOf(file)
        .filter((imported) => !mayImport(room, imported))
        .map((imported) => `${file} imports ${imported.target}`),
    )
    expect(broken).toEqual([])
  })

  it('leave the environment to its one reader', () => {
    const readers = files.filter((file) =>
      readFileSync(join(root, file), 'utf8').includes('process.env'),
    )
    const allowed = readers.filter((file) => file === 'src/config.ts' || within(file, 'src/dev'))
    expect(readers).toEqual(allowed)
    expect(readers).toContain('src/config.ts')
  })

  it('have no drawer for things without a name', () => {
    const nameless = files.filter((file) =>
      /(^|\/)(utils?|helpers?|misc|common|index)\.ts$/.test(file),
    )
    expect(nameless.filter((file) => file !== 'workflows/index.ts')).toEqual([])
  })
})
