import { pino } from 'pino'
import { defined } from '../domain/defined.ts'

/**
 * All fields that a caller may give a log line, besides `error`. The logger writes no other field. So prompts, keys,
 * image bytes, query strings and upstream texts never reach the log.
 */
const fieldTypes = {
  requestId: 'string',
  taskId: 'string',
  accountId: 'string',
  keyId: 'string',
  workflowId: 'string',
  webhookId: 'string',
  runId: 'string',
  workerId: 'string',
  route: 'string',
  method: 'string',
  status: 'number',
  durationMs: 'number',
  channel: 'string',
  attempt: 'number',
  class: 'string',
  reason: 'string',
  code: 'string',
  httpStatus: 'number',
  upstreamRequestId: 'string',
  delayMs: 'number',
  count: 'number',
  step: 'string',
  address: 'string',
  port: 'number',
} as const

type FieldName = keyof typeof fieldTypes

type LogFields = {
  readonly [Name in FieldName]?: (typeof fieldTypes)[Name] extends 'number' ? number : string
} & {
  /** Logged as name, code and stack frames. The message is left out, because it may quote any value. */
  readonly error?: unknown
}

export type Logger = {
  readonly [Level in 'debug' | 'info' | 'warn' | 'error']: (
    event: string,
    fields?: LogFields,
  ) => void
}

/** Writes one JSON line per event to stdout. With `pretty`, writes readable lines for a terminal instead. */
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

/**
 * Returns only the known fields. TypeScript checks nothing at run time, so a caller could pass other fields
 * in spite of `LogFields`.
 */
function pick(fields: LogFields): Record<string, unknown> {
  const { error, ...given } = fields
  const known = Object.entries(given).filter(([name]) => Object.hasOwn(fieldTypes, name))
  const line = defined(Object.fromEntries(known))
  return error === undefined ? line : { ...line, error: describeError(error) }
}

/** Returns what the log shows of an error. Leaves out the message, because messages of libraries quote values. */
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
