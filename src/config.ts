import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { CapabilityTable } from './domain/capabilities.ts'
import { builtInCapabilities } from './domain/capabilities.ts'
import type { Channel } from './domain/channel.ts'
import type { ModelId } from './domain/models.ts'
import { modelIds } from './domain/models.ts'
import type { OperatorFile } from './schema/operatorFile.ts'
import { operatorFile } from './schema/operatorFile.ts'

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

/** The first of a list makes, all of them verify: so secrets are rotated without an outage. */
export type Secret = { readonly id: string; readonly secret: string }

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** A message for the operator that names the variable or the path in the file; no stack is of use. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback)
const whole = (fallback: number, least: number, most: number) =>
  z.coerce.number().int().min(least).max(most).default(fallback)
const text = z.string().min(1)

const variables = z.object({
  HOST: text.default('127.0.0.1'),
  PORT: port(8080),
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
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

export type Environment = Readonly<Record<string, string | undefined>>

/** What `npm start` hands on to the programs it starts, as it got it itself. */
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
  if (!read.success) throw new ConfigError(explain(read.error))
  const given = read.data
  const dataDir = resolve(given.DATA_DIR)
  return {
    host: given.HOST,
    port: given.PORT,
    publicUrl: (given.PUBLIC_URL ?? `http://${given.HOST}:${given.PORT}`).replace(/\/+$/, ''),
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
    signingKeys: secrets('SIGNING_KEYS', given.SIGNING_KEYS),
    keyPeppers: secrets('KEY_PEPPER', given.KEY_PEPPER),
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

/** File in DATA_DIR where a running `npm start` leaves the variables of its processes (mode 0600). */
export const runtimeFileName = 'runtime.json'

const runtimeFile = z.object({ environment: z.record(z.string(), z.string()) })

/**
 * The environment with what a running `npm start` on the same DATA_DIR left in `runtime.json` behind it:
 * so the CLI finds the stack without being told. What is set wins.
 */
export function withRuntimeFile(environment: Environment = process.env): Environment {
  const path = join(resolve(environment['DATA_DIR'] ?? '.data'), runtimeFileName)
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch {
    return environment
  }
  const read = runtimeFile.safeParse(JSON.parse(content))
  if (!read.success) throw new ConfigError(`${path} is not a file that \`npm start\` wrote`)
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  return { ...read.data.environment, ...set }
}

/** The value of a variable that this process cannot do without. Throws `ConfigError` naming it. */
export function required<Value>(value: Value | undefined, variable: string): Value {
  if (value === undefined) {
    throw new ConfigError(`${variable} is not set. \`npm start\` sets it for its own processes.`)
  }
  return value
}

/** The operator's file, checked, with each channel's credential taken from its variable. */
export type Operation = {
  readonly channels: readonly Channel[]
  readonly prices: OperatorFile['prices']
  readonly capabilities: CapabilityTable
}

/** A credential that is none of this would fail every call, and look like an upstream that is away. */
const headerText = /^[\x20-\x7e]*$/

/** Throws `ConfigError` naming the file and the path in it. `withKeys` false: the API needs no credentials. */
export function readOperation(
  path: string,
  options: { readonly withKeys: boolean },
  environment: Environment = process.env,
): Operation {
  const file = parseOperatorFile(path)
  const channels = file.channels.map(
    ({ apiKeyEnv, timeoutSeconds, ...channel }, index): Channel => {
      const apiKey = environment[apiKeyEnv]
      if (options.withKeys && (apiKey === undefined || apiKey === '')) {
        throw new ConfigError(
          `${path}: channels[${index}].apiKeyEnv names ${apiKeyEnv}, which is not set`,
        )
      }
      if (!headerText.test(apiKey ?? '')) {
        throw new ConfigError(
          `${apiKeyEnv} holds what no HTTP header can carry, such as a line end`,
        )
      }
      return { ...channel, apiKey: apiKey ?? '', timeoutMs: timeoutSeconds * 1000 }
    },
  )
  return { channels, prices: file.prices, capabilities: overridden(file.capabilities) }
}

function parseOperatorFile(path: string): OperatorFile {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable'
    throw new ConfigError(`DARKROOM_CONFIG: cannot read ${path}: ${reason}`)
  }
  const parsed = operatorFile.safeParse(content)
  if (!parsed.success) throw new ConfigError(`DARKROOM_CONFIG: ${path}: ${explain(parsed.error)}`)
  return parsed.data
}

function overridden(overrides: OperatorFile['capabilities']): CapabilityTable {
  const merged = (model: ModelId) => {
    const override = Object.entries(overrides[model] ?? {}).filter(
      ([, value]) => value !== undefined,
    )
    return { ...builtInCapabilities[model], ...Object.fromEntries(override) }
  }
  const table = Object.fromEntries(modelIds.map((model) => [model, merged(model)]))
  return { ...builtInCapabilities, ...table }
}

/** `id:secret,id:secret`, or a lone secret, whose id is then derived from it. At least 16 characters each. */
function secrets(variable: string, value: string | undefined): readonly Secret[] | undefined {
  if (value === undefined) return undefined
  return value.split(',').map((item) => {
    const colon = item.indexOf(':')
    const secret = item.slice(colon + 1).trim()
    if (secret.length < 16)
      throw new ConfigError(`${variable}: each secret needs 16 characters or more`)
    const digest = createHash('sha256').update(secret).digest('hex')
    const id = colon > 0 ? item.slice(0, colon).trim() : digest.slice(0, 8)
    if (!/^[0-9A-Za-z]{1,16}$/.test(id)) {
      throw new ConfigError(`${variable}: an id is 1 to 16 letters or digits`)
    }
    return { id, secret }
  })
}

/** One line per fault, each beginning with the variable or the path in the file. */
function explain(error: z.ZodError): string {
  const path = (parts: readonly PropertyKey[]) =>
    parts.reduce<string>(
      (text, part) =>
        typeof part === 'number'
          ? `${text}[${part}]`
          : text === ''
            ? String(part)
            : `${text}.${String(part)}`,
      '',
    )
  return error.issues.map((issue) => `${path(issue.path)}: ${issue.message}`).join('\n')
}
