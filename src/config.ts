import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { ConfigError, explainIssues } from './config/configError.ts'
import type { Environment } from './config/configError.ts'
import { httpUrl } from './config/httpUrl.ts'
import type { Secret } from './config/secrets.ts'
import { readSecrets } from './config/secrets.ts'

/**
 * The one reader of the environment (design section 3 lists every variable). Libraries read their own:
 * AWS_* (the S3 client), OTEL_* (OpenTelemetry), TEMPORAL_* for TLS and API key (@temporalio/envconfig).
 */
export type Config = {
  readonly host: string
  readonly port: number
  /** Without trailing slash; never taken from a request. */
  readonly publicUrl: string
  readonly internalHost: string
  readonly internalPort: number
  readonly workerInternalPort: number
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly temporalAddress: string | undefined
  readonly temporalNamespace: string
  readonly temporalUiUrl: string | undefined
  readonly temporalPort: number
  readonly temporalUiPort: number
  readonly postgresPort: number
  readonly simulatorPort: number
  readonly blobStoreUrl: string
  readonly signingKeys: readonly Secret[] | undefined
  readonly keyPeppers: readonly Secret[] | undefined
  readonly operatorFilePath: string | undefined
  readonly ingressLimitBytes: number
  readonly retentionSeconds: number
  readonly tombstoneSeconds: number
  readonly taskDeadlineSeconds: number
  readonly syncDeadlineSeconds: number
  readonly upstreamCallsMax: number
  readonly logLevel: LogLevel
  readonly otlpEndpoint: string | undefined
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Digits only: coerced, a blank would be 0, and a fault would be told in the words of a programmer. */
const whole = (fallback: number, least: number, most: number) =>
  z
    .string()
    .trim()
    .refine(
      (digits) => /^\d{1,15}$/.test(digits) && Number(digits) >= least && Number(digits) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .transform(Number)
    .default(fallback)
const port = (fallback: number) => whole(fallback, 0, 65_535)
const text = z.string().min(1)
/** Paths are put behind it. */
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')

const variables = z.object({
  HOST: text.default('127.0.0.1'),
  PORT: port(8080),
  PUBLIC_URL: baseUrl.optional(),
  INTERNAL_HOST: text.default('127.0.0.1'),
  INTERNAL_PORT: port(9464),
  WORKER_INTERNAL_PORT: port(9465),
  DATA_DIR: text.default('.data'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  TEMPORAL_ADDRESS: text.optional(),
  TEMPORAL_NAMESPACE: text.default('default'),
  TEMPORAL_UI_URL: z.url().optional(),
  TEMPORAL_PORT: port(7233),
  TEMPORAL_UI_PORT: port(8233),
  POSTGRES_PORT: port(5433),
  SIMULATOR_PORT: port(8090),
  BLOB_STORE: z.url({ protocol: /^(file|s3)$/ }).optional(),
  SIGNING_KEYS: text.optional(),
  KEY_PEPPER: text.optional(),
  DARKROOM_CONFIG: text.optional(),
  INGRESS_LIMIT_BYTES: whole(134_217_728, 1_024, 1_073_741_824),
  RETENTION_SECONDS: whole(86_400, 1, 31_536_000),
  TOMBSTONE_SECONDS: whole(604_800, 0, 31_536_000),
  TASK_DEADLINE_SECONDS: whole(1_800, 1, 86_400),
  SYNC_DEADLINE_SECONDS: whole(280, 1, 3_600),
  UPSTREAM_CALLS_MAX: whole(3, 1, 100),
  LOG_LEVEL: z.enum(logLevels).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
})

/** The variables of this process as it got them: for what reads others than `readConfig` does. */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
}

/** Reads and checks every variable; an empty one counts as absent. Throws `ConfigError`. */
export function readConfig(environment: Environment = process.env): Config {
  const present = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== ''),
  )
  const read = variables.safeParse(present)
  if (!read.success) throw new ConfigError(explainIssues(read.error))
  const given = read.data
  const dataDir = resolve(given.DATA_DIR)
  return {
    host: given.HOST,
    port: given.PORT,
    publicUrl: (given.PUBLIC_URL ?? httpUrl(given.HOST, given.PORT)).replace(/\/+$/, ''),
    internalHost: given.INTERNAL_HOST,
    internalPort: given.INTERNAL_PORT,
    workerInternalPort: given.WORKER_INTERNAL_PORT,
    dataDir,
    databaseUrl: given.DATABASE_URL,
    temporalAddress: given.TEMPORAL_ADDRESS,
    temporalNamespace: given.TEMPORAL_NAMESPACE,
    temporalUiUrl: given.TEMPORAL_UI_URL,
    temporalPort: given.TEMPORAL_PORT,
    temporalUiPort: given.TEMPORAL_UI_PORT,
    postgresPort: given.POSTGRES_PORT,
    simulatorPort: given.SIMULATOR_PORT,
    blobStoreUrl: given.BLOB_STORE ?? pathToFileURL(join(dataDir, 'blobs')).href,
    signingKeys: readSecrets('SIGNING_KEYS', given.SIGNING_KEYS),
    keyPeppers: readSecrets('KEY_PEPPER', given.KEY_PEPPER),
    operatorFilePath: given.DARKROOM_CONFIG,
    ingressLimitBytes: given.INGRESS_LIMIT_BYTES,
    retentionSeconds: given.RETENTION_SECONDS,
    tombstoneSeconds: given.TOMBSTONE_SECONDS,
    taskDeadlineSeconds: given.TASK_DEADLINE_SECONDS,
    syncDeadlineSeconds: given.SYNC_DEADLINE_SECONDS,
    upstreamCallsMax: given.UPSTREAM_CALLS_MAX,
    logLevel: given.LOG_LEVEL,
    otlpEndpoint: given.OTEL_EXPORTER_OTLP_ENDPOINT,
  }
}

/** The value of a variable that this process cannot do without. Throws `ConfigError` naming it. */
export function required<Value>(value: Value | undefined, variable: string): Value {
  if (value === undefined) {
    throw new ConfigError(`${variable} is not set. \`npm start\` sets it for its own processes.`)
  }
  return value
}
