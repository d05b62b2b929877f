import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { ConfigError, explainIssues } from './configError.ts'
import {
  baseUrl,
  blobStoreUrl,
  hostNames,
  httpUrlText,
  ipAndPort,
  onOff,
  personName,
  port,
  postgresUrl,
  text,
  wholeNumber,
} from './fields.ts'
import { readAdminKeys, readSecrets } from './secrets.ts'

// The configuration of a process. Only this file reads the environment. The exceptions are variables of libraries:
// AWS_* (the S3 client), OTEL_* (OpenTelemetry), TEMPORAL_* for TLS and API key (@temporalio/envconfig), and
// FONTCONFIG_FILE, which the simulator sets for its font unless it is set already.

/** A process that reads variables. */
export type Reader = 'api' | 'worker' | 'admin' | 'cli'

/**
 * The readers of each variable that not all read. What is set for one process, or by Kubernetes for a Service, never ends
 * another one.
 */
const readers = z.registry<{ readonly by: readonly Reader[] }>()
const by = (...names: readonly Reader[]) => ({ by: names })

const variables = z.object({
  HOST: text.default('127.0.0.1').register(readers, by('api')),
  PORT: port(8080).register(readers, by('api')),
  PUBLIC_URL: baseUrl.optional().register(readers, by('api', 'worker', 'cli')),
  INTERNAL_HOST: text.default('127.0.0.1').register(readers, by('api', 'worker')),
  INTERNAL_PORT: port(9464).register(readers, by('api')),
  WORKER_INTERNAL_PORT: port(9465).register(readers, by('worker')),
  ADMIN_HOST: text.default('127.0.0.1').register(readers, by('admin')),
  ADMIN_PORT: port(8081).register(readers, by('admin')),
  ADMIN_KEYS: text.optional().register(readers, by('admin')),
  ADMIN_ALLOWED_HOSTS: hostNames.optional().register(readers, by('admin')),
  DATA_DIR: text.default('.data'),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_SESSION_URL: postgresUrl.optional(),
  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^/]+$/, 'must be HOST:PORT')
    .optional(),
  TEMPORAL_NAMESPACE: text.default('default'),
  TEMPORAL_METRICS_ADDRESS: ipAndPort.optional().register(readers, by('worker')),
  TEMPORAL_UI_URL: httpUrlText.optional().register(readers, by('admin', 'cli')),
  BLOB_STORE: blobStoreUrl.optional(),
  SIGNING_KEYS: text.optional().register(readers, by('api', 'worker', 'cli')),
  KEY_PEPPER: text.optional().register(readers, by('api', 'admin', 'cli')),
  WEBHOOK_KEYS: text.optional().register(readers, by('api', 'worker')),
  WEBHOOK_PRIVATE: z
    .enum(['allow', 'refuse'])
    .default('refuse')
    .register(readers, by('api', 'worker')),
  DARKROOM_CONFIG: text.optional(),
  DARKROOM_ACTOR: personName.optional().register(readers, by('cli')),
  INGRESS_LIMIT_BYTES: wholeNumber(134_217_728, 1_024, 1_073_741_824).register(readers, by('api')),
  RETENTION_SECONDS: wholeNumber(86_400, 1, 31_536_000),
  TOMBSTONE_SECONDS: wholeNumber(604_800, 0, 31_536_000),
  INPUT_RETENTION_SECONDS: wholeNumber(86_400, 0, 31_536_000),
  TASK_DEADLINE_SECONDS: wholeNumber(1_800, 1, 86_400),
  SYNC_DEADLINE_SECONDS: wholeNumber(280, 1, 3_600).register(readers, by('api')),
  UPSTREAM_CALLS_MAX: wholeNumber(3, 1, 100).register(readers, by('worker')),
  PUBLIC_PAGES: onOff('on').register(readers, by('api')),
  ASSET_REDIRECT: onOff('off').register(readers, by('api')),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .register(readers, by('api', 'worker', 'admin')),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrlText.optional().register(readers, by('api', 'worker')),
})

/** The names of the variables that `readConfig` knows. */
export const variableNames: ReadonlySet<string> = new Set(Object.keys(variables.shape))

/** The values of environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the variables that are set. An empty variable counts as not set. */
export function setVariables(environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  )
}

/** Returns the variables of this process, for code that needs some which `readConfig` does not know. */
export function inheritedEnvironment(): Record<string, string> {
  return setVariables(process.env)
}

export type Config = ReturnType<typeof readConfig>

/** Reads and checks the variables of a schema. An empty variable counts as not set. Throws `ConfigError`. */
export function readVariables<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): z.infer<Schema> {
  const read = schema.safeParse(setVariables(environment))
  if (read.success) return read.data
  throw new ConfigError(explainIssues(read.error))
}

/**
 * Reads and checks the variables of a process. Those that it does not read have their defaults. Without a reader, as in
 * `npm start`, every variable is read and checked. Throws `ConfigError`.
 */
export function readConfig(environment: Environment, reader?: Reader) {
  const others = Object.entries(variables.shape).filter(([, field]) => {
    const own = readers.get(field)?.by
    return reader && own && !own.includes(reader)
  })
  const ignored = Object.fromEntries(others.map(([name]) => [name, undefined]))
  const given = readVariables(variables, { ...environment, ...ignored })
  if (given.ASSET_REDIRECT && given.BLOB_STORE?.startsWith('s3:') !== true) {
    throw new ConfigError(
      'ASSET_REDIRECT=on needs an S3 bucket in BLOB_STORE: files have no addresses',
    )
  }
  const dataDir = resolve(given.DATA_DIR)
  const publicUrlGiven = given.PUBLIC_URL?.replace(/\/+$/, '')
  return {
    host: given.HOST,
    port: given.PORT,
    /** The base of all URLs in answers, without a trailing slash. The Host header of a request is never used. */
    publicUrl: publicUrlGiven ?? httpUrl(given.HOST, given.PORT),
    /** `publicUrl` when PUBLIC_URL is set. The default of `publicUrl` is right in an API process only. */
    publicUrlGiven,
    internalHost: given.INTERNAL_HOST,
    internalPort: given.INTERNAL_PORT,
    workerInternalPort: given.WORKER_INTERNAL_PORT,
    adminHost: given.ADMIN_HOST,
    adminPort: given.ADMIN_PORT,
    adminKeys: readAdminKeys(given.ADMIN_KEYS),
    /** Names in the Host header, and in Origin, that the admin process accepts besides its own. */
    adminAllowedHosts: given.ADMIN_ALLOWED_HOSTS ?? [],
    dataDir,
    databaseUrl: given.DATABASE_URL,
    /** For connections whose session must stay: LISTEN, beats and long statements. Default: `databaseUrl`. */
    databaseSessionUrl: given.DATABASE_URL && (given.DATABASE_SESSION_URL ?? given.DATABASE_URL),
    temporalAddress: given.TEMPORAL_ADDRESS,
    temporalNamespace: given.TEMPORAL_NAMESPACE,
    /** IP:PORT at which a worker serves the metrics of Temporal's SDK. */
    temporalMetricsAddress: given.TEMPORAL_METRICS_ADDRESS,
    temporalUiUrl: given.TEMPORAL_UI_URL,
    blobStoreUrl: given.BLOB_STORE ?? pathToFileURL(join(dataDir, 'blobs')).href,
    /** The first secret signs, and every secret verifies. So an operator can replace a secret without an outage. */
    signingKeys: readSecrets('SIGNING_KEYS', given.SIGNING_KEYS),
    keyPeppers: readSecrets('KEY_PEPPER', given.KEY_PEPPER),
    webhookKeys: readSecrets('WEBHOOK_KEYS', given.WEBHOOK_KEYS),
    webhookPrivate: given.WEBHOOK_PRIVATE,
    operatorFilePath: given.DARKROOM_CONFIG,
    /** What the operator of the CLI calls themselves. */
    actor: given.DARKROOM_ACTOR,
    ingressLimitBytes: given.INGRESS_LIMIT_BYTES,
    retentionSeconds: given.RETENTION_SECONDS,
    tombstoneSeconds: given.TOMBSTONE_SECONDS,
    inputRetentionSeconds: given.INPUT_RETENTION_SECONDS,
    taskDeadlineSeconds: given.TASK_DEADLINE_SECONDS,
    syncDeadlineSeconds: given.SYNC_DEADLINE_SECONDS,
    upstreamCallsMax: given.UPSTREAM_CALLS_MAX,
    /** Whether the playground, the reference and the OpenAPI document are served. Nobody needs a key for them. */
    publicPages: given.PUBLIC_PAGES,
    /** Whether images are served by 307 to an address of the S3 bucket. Never true with files. */
    assetRedirect: given.ASSET_REDIRECT,
    logLevel: given.LOG_LEVEL,
    otlpEndpoint: given.OTEL_EXPORTER_OTLP_ENDPOINT,
  } as const
}

/** Returns the value of a variable that the process needs. Throws `ConfigError` with its name if it is not set. */
export function required<Value>(value: Value | undefined, variable: string): Value {
  if (value !== undefined) return value
  throw new ConfigError(`${variable} is not set. \`npm start\` sets it for its own processes.`)
}

/** Returns the URL of a server. Puts an IPv6 address in brackets (RFC 3986 section 3.2.2). */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
