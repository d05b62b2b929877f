import { pino } from 'pino'
import { defined } from '../domain/defined.ts'

/**
 * All fields that a log line may have. No other field can be logged, so prompts, keys, image bytes, query
 * strings and upstream texts never reach the log.
 */
type LogFields = {
  readonly requestId?: string
  readonly taskId?: string
  readonly accountId?: string
  readonly keyId?: string
  readonly workflowId?: string
  readonly runId?: string
  readonly route?: string
  readonly method?: string
  readonly status?: number
  readonly durationMs?: number
  readonly channel?: string
  readonly attempt?: number
  readonly class?: string
  readonly reason?: string
  readonly code?: string
  readonly httpStatus?: number
  readonly upstreamRequestId?: string
  readonly delayMs?: number
  readonly count?: number
  readonly step?: string
  readonly address?: string
  readonly port?: number
  /** Logged as name, code and stack frames, without the message: it may quote any value. */
  readonly error?: unknown
}

export type Logger = {
  readonly [Level in 'debug' | 'info' | 'warn' | 'error']: (
    event: string,
    fields?: LogFields,
  ) => void
}

const allowed = [
  'requestId',
  'taskId',
  'accountId',
  'keyId',
  'workflowId',
  'runId',
  'route',
  'method',
  'status',
  'durationMs',
  'channel',
  'attempt',
  'class',
  'reason',
  'code',
  'httpStatus',
  'upstreamRequestId',
  'delayMs',
  'count',
  'step',
  'address',
  'port',
] as const satisfies readonly Exclude<keyof LogFields, 'error'>[]

/** Writes one JSON line per event to stdout, or readable lines when `pretty` is set for a terminal. */
export function createLogger(options: {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly process: 'api' | 'worker' | 'cli' | 'dev'
  readonly pretty: boolean
}): Logger {
  const { level, process: name, pretty } = options
  const base = { process: name }
  const log = pretty
    ? pino({ level, base, transport: { target: 'pino-pretty', options: { ignore: 'process' } } })
    : pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: named } })
  const write =
    (at: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}) =>
      log[at](pick(fields), event)
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

function named(level: string): { readonly level: string } {
  return { level }
}

/** Types do not exist at run time: this drops fields that a caller passes in spite of `LogFields`. */
function pick(fields: LogFields): Record<string, unknown> {
  const line: Record<string, unknown> = {}
  for (const field of allowed) {
    if (fields[field] !== undefined) line[field] = fields[field]
  }
  if (fields.error !== undefined) line['error'] = describeError(fields.error)
  return line
}

/** Where an error was thrown. Without its message, because messages of libraries quote values. */
function describeError(error: unknown): {
  readonly name: string
  readonly code?: string
  readonly at?: readonly string[]
} {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 6)
    .map((line) => line.trim().replace(/^at (.*?)\(?(?:file:\/\/)?[^ (]*\/([^/)]+)\)?$/, '$1$2'))
  return { name: error.name, ...defined({ code }), at: frames }
}
