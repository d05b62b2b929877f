import { load, YAML11_SCHEMA } from 'js-yaml'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { textOf } from '../support/sourceFiles.ts'

const service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).default([]),
  restart: z.string(),
  ports: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  logging: z.unknown(),
  stop_grace_period: z.string().optional(),
  init: z.boolean().optional(),
})
// Schema 1.1 knows `<<`, as Compose does.
const compose = z
  .object({ services: z.record(z.string(), service) })
  .parse(load(textOf('docker-compose.yml'), { schema: YAML11_SCHEMA })).services

it('Compose gives PostgreSQL the settings of `npm start`, but for addresses and time zone', () => {
  const [, settings = ''] =
    /const settings = \{(.+?)\n {2}\}/s.exec(textOf('src/dev/postgres.ts')) ?? []
  const given = [...settings.matchAll(/^ {4}(\w+): '?([^',\n]+)'?,$/gm)]
    .map(([, name, value]) => `-c${name}=${value}`)
    .filter((setting) => !/listen|timezone|permissions/.test(setting))
  expect(given.length).toBeGreaterThan(8)
  expect(compose['postgres']?.command.slice(1).sort()).toEqual(given.sort())
})

it('Compose stops an API after its longest synchronous call and 20 s, a worker after its longest call and a minute', () => {
  const stops = (name: string) => compose[name]?.stop_grace_period
  // Compose adds up durations that follow each other.
  expect(['api-1', 'api-2'].map(stops)).toEqual(Array(2).fill('${SYNC_DEADLINE_SECONDS:-280}s20s'))
  expect(['worker-1', 'worker-2'].map(stops)).toEqual(
    Array(2).fill('${LONGEST_TIMEOUT_SECONDS:-600}s60s'),
  )
  // Without it, a SIGTERM that comes while Node begins is lost.
  const own = Object.values(compose).filter(({ image }) => image.startsWith('darkroom:'))
  expect(own.map(({ init }) => init)).toEqual(own.map(() => true))
  expect(compose['api-1']?.environment['SYNC_DEADLINE_SECONDS']).toBe(
    '${SYNC_DEADLINE_SECONDS:-280}',
  )
})

it('Compose begins each step again until its server answers, and rotates every log', () => {
  const once = Object.entries(compose).filter(([, { restart }]) => restart !== 'unless-stopped')
  expect(once.map(([name, { restart }]) => [name, restart])).toEqual([
    ['temporal-schema', 'on-failure:12'],
    ['migrate', 'on-failure:12'],
  ])
  for (const { logging } of Object.values(compose)) {
    expect(logging).toEqual({
      driver: 'json-file',
      options: { 'max-size': '20m', 'max-file': '5' },
    })
  }
})

it('every process of Darkroom in Compose is of one version', () => {
  const images = ['api-1', 'api-2', 'worker-1', 'worker-2', 'admin', 'migrate'].map(
    (name) => compose[name]?.image,
  )
  expect(new Set(images)).toEqual(new Set(['darkroom:${DARKROOM_VERSION:-latest}']))
})

it('nginx.conf and prometheus.yml name the APIs and workers of docker-compose.yml', () => {
  const published = ['api-1', 'api-2'].flatMap((name) => compose[name]?.ports ?? [])
  const servers = [...textOf('deploy/nginx.conf').matchAll(/^ {2}server (\S+);$/gm)]
  expect(servers.map(([, address]) => `${address}:8080`)).toEqual(published)
  const targets = [...textOf('deploy/prometheus.yml').matchAll(/'([\w-]+):\d+'/g)]
  expect(new Set(targets.map(([, name]) => name))).toEqual(
    new Set(['api-1', 'api-2', 'worker-1', 'worker-2']),
  )
  expect(compose['worker-2']?.environment['TEMPORAL_METRICS_ADDRESS']).toBe('0.0.0.0:9466')
})

it('every process in Compose reaches Temporal Cloud by three variables, and without them the Temporal beside it', () => {
  for (const name of ['api-1', 'api-2', 'worker-1', 'worker-2', 'admin', 'migrate']) {
    expect(compose[name]?.environment).toMatchObject({
      TEMPORAL_ADDRESS: '${TEMPORAL_ADDRESS:-temporal:7233}',
      TEMPORAL_NAMESPACE: '${TEMPORAL_NAMESPACE:-default}',
      TEMPORAL_API_KEY: '${TEMPORAL_API_KEY:-}',
    })
  }
})
