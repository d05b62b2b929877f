import { pino } from 'pino'
import { defined } from '../domain/defined.ts'

/**
 * Every field that may appear in a log line. A field that is not here cannot be logged: prompts, keys,
 * bytes, query strings and upstream texts have no way in (design section 4).
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
  /** Name, code and our own frames of an error: never its message, which may quote anything. */
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

/** One JSON line per event on stdout; pretty where a person watches a terminal. */
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

/** Types end at run time: what a careless caller passes beside the allowed fields is dropped here. */
function pick(fields: LogFields): Record<string, unknown> {
  const line: Record<string, unknown> = {}
  for (const field of allowed) {
    if (fields[field] !== undefined) line[field] = fields[field]
  }
  if (fields.error !== undefined) line['error'] = describeError(fields.error)
  return line
}

/** Where an error came from, without what it says: messages of libraries quote values. */
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
