import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, sourceFiles, textOf, writtenFiles } from './support/sourceFiles.ts'

/**
 * Which room may import which rooms and packages. A room is a folder or a file directly in `src`, or
 * `workflows` or `activities`. `types:` allows only `import type`. `node` means Node's own modules.
 */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  // The rules of the product. They import nothing, so that every other room can use them.
  'src/domain': [],
  'src/bytes': ['src/domain', 'sharp', 'node'],
  'src/schema': ['src/domain', 'zod'],
  'src/tasks': [
    'src/domain',
    'src/store',
    'types:src/telemetry',
    'types:src/temporal',
    'types:pg',
    'node',
  ],

  // Temporal: workflows run in a sandbox and reach the outside through activities only.
  workflows: ['src/domain', '@temporalio/workflow'],
  activities: [
    'src/domain',
    'src/tasks',
    'types:src/store',
    'types:src/telemetry',
    'workflows/contract.ts',
    '@temporalio/activity',
    '@temporalio/common',
  ],

  // Adapters: each connects the domain to one outside system.
  'src/http': [
    'src/domain',
    'src/schema',
    'types:src/store',
    'src/bytes',
    'src/tasks',
    'package.json',
    '@koa/cors',
    '@koa/router',
    'koa',
    'marked',
    'zod',
    'zod-openapi',
    'node',
  ],
  // The API of operators and their console.
  'src/admin': [
    'src/domain',
    'src/http',
    'src/operations',
    'src/schema',
    'src/bytes',
    'koa',
    'zod',
    'node',
  ],
  // The receivers of webhooks, which the workers call.
  'src/receivers': ['src/domain', 'types:src/tasks', 'standardwebhooks', 'undici', 'node'],
  // The pages. A browser runs it as it is, so it imports nothing but its libraries.
  'src/web': ['htm', 'preact', 'words'],
  'src/store': ['src/domain', 'types:src/schema', 'pg', 'node'],
  'src/blobs': ['src/domain', '@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner', 'node'],
  'src/upstream': ['src/domain', 'src/bytes', 'undici', 'node'],
  'src/temporal': [
    'src/domain',
    'workflows/contract.ts',
    '@temporalio/client',
    '@temporalio/common',
    '@temporalio/envconfig',
    '@temporalio/worker',
    'node',
  ],
  'src/telemetry': [
    'src/domain',
    'types:src/store',
    '@opentelemetry',
    'pino',
    'pino-pretty',
    'prom-client',
    'node',
  ],
  // What an operator does, for the CLI and the admin API.
  'src/operations': [
    'src/domain',
    'types:src/schema',
    'src/store',
    'src/tasks',
    'types:src/upstream/checkChannel.ts',
    'types:pg',
  ],
  'src/cli': [
    'src/domain',
    'src/operations',
    'src/schema/instant.ts',
    'types:src/store',
    'types:src/temporal/worker/replay.ts',
    'package.json',
    'commander',
    'node',
  ],

  // Configuration. The linter checks that only `src/config/environment.ts` and `src/dev` read the environment.
  'src/config': ['src/domain', 'src/schema/operatorFile.ts', 'zod', 'node'],

  // Wiring creates the adapters and connects them. The entries start one process each.
  'src/wiring': [
    'activities',
    'src/admin',
    'src/blobs',
    'src/bytes',
    'src/cli',
    'src/config',
    'src/domain',
    'src/http',
    'src/operations',
    'src/receivers',
    'src/store',
    'src/tasks',
    'src/telemetry',
    'src/temporal',
    'src/upstream',
    'types:pg',
    'node',
  ],
  'src/api.ts': ['src/wiring'],
  'src/worker.ts': ['src/wiring'],
  'src/admin.ts': ['src/wiring'],
  'src/cli.ts': ['src/wiring'],

  // `npm start`: PostgreSQL, Temporal, the simulator and all processes on one machine.
  'src/dev': [
    'src/config',
    'src/domain',
    'src/http',
    'src/store',
    'src/tasks',
    'src/wiring',
    '@temporalio/testing',
    'pg',
    'sharp',
    'zod',
    'node',
  ],
}

const rooms = Object.keys(allowedImports)

type Import = { readonly target: string; readonly typeOnly: boolean }

function importsOf(file: string): readonly Import[] {
  const statement =
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g
  return [...textOf(file).matchAll(statement)].map((match) => ({
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

function isIn(target: string, place: string): boolean {
  return target === place || target.startsWith(`${place}/`)
}

function mayImport(room: string, { target, typeOnly }: Import): boolean {
  if (isIn(target, room)) return true
  return (allowedImports[room] ?? []).some((allowed) =>
    allowed.startsWith('types:')
      ? typeOnly && isIn(target, allowed.slice('types:'.length))
      : isIn(target, allowed),
  )
}

describe('the table of imports', () => {
  it('has a row for every room', () => {
    const present = readdirSync(join(root, 'src')).map((name) => `src/${name}`)
    expect(rooms.toSorted()).toEqual([...present, 'activities', 'workflows'].toSorted())
  })

  it.each(rooms)('allows every import of %s', (room) => {
    const files = sourceFiles.filter((file) => isIn(file, room))
    expect(files).not.toEqual([])
    const forbidden = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => !mayImport(room, imported))
        .map(({ target }) => `${file} imports ${target}`),
    )
    expect(forbidden).toEqual([])
  })

  it.each(rooms)('allows nothing that %s does not import', (room) => {
    const imports = sourceFiles.filter((file) => isIn(file, room)).flatMap(importsOf)
    const unused = (allowedImports[room] ?? []).filter((allowed) => {
      const place = allowed.replace('types:', '')
      return !imports.some(({ target }) => isIn(target, place))
    })
    expect(unused).toEqual([])
  })

  it('lets the referee of a run share nothing with the product', () => {
    const judging = ['bench/referee', 'bench/referee.ts', 'bench/hosts/history.ts']
    const files = writtenFiles.filter((file) => judging.some((place) => isIn(file, place)))
    const allowed = [...judging, 'node', 'zod']
    const shared = files
      .flatMap(importsOf)
      .filter(({ target }) => !allowed.some((place) => isIn(target, place)))
    expect({ files: files.length > judging.length, shared }).toEqual({ files: true, shared: [] })
  })

  it('leads to no file and no package that the Docker image lacks: src/dev and development dependencies', () => {
    const { dependencies } = JSON.parse(textOf('package.json'))
    const installed = Object.keys(dependencies)
    const inImage = rooms.filter((room) => room !== 'src/dev')
    const lacking = inImage.flatMap((room) =>
      (allowedImports[room] ?? []).filter((allowed) => {
        const isOurs = [...rooms, 'package.json', 'types:', 'node', 'words'].some((ours) =>
          allowed.startsWith(ours),
        )
        return allowed === 'src/dev' || !(isOurs || installed.some((name) => isIn(name, allowed)))
      }),
    )
    expect(lacking).toEqual([])
    expect(textOf('.dockerignore').split('\n')).toContain('src/dev')
  })
})
