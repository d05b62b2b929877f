import { pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { defined } from '../domain/defined.ts'

/**
 * All fields that a caller may give a log line, besides `error`. The logger writes no other field. So prompts, keys,
 * image bytes, query strings and upstream texts never reach the log.
 */
const textFields = [
  'requestId',
  'taskId',
  'accountId',
  'keyId',
  'workflowId',
  'webhookId',
  'runId',
  'workerId',
  'route',
  'method',
  'channel',
  'model',
  'class',
  'reason',
  'code',
  'upstreamRequestId',
  'vendorCode',
  'step',
  'address',
  'shape',
] as const
const numberFields = [
  'status',
  'durationMs',
  'attempt',
  'httpStatus',
  'delayMs',
  'count',
  'port',
  'imageCount',
  'leftOutBytes',
] as const
const knownFields: ReadonlySet<string> = new Set([...textFields, ...numberFields])

type LogFields = { readonly [Name in (typeof textFields)[number]]?: string } & {
  readonly [Name in (typeof numberFields)[number]]?: number
} & {
  /** Logged as name, code and stack frames. The message is left out, because it may quote any value. */
  readonly error?: unknown
}

export type Logger = ReturnType<typeof createLogger>

/**
 * Writes one JSON line per event to stdout. With `pretty`, writes readable lines for a terminal instead. Lines that
 * cannot be written are lost, and end nothing.
 */
export function createLogger(options: {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly process: 'api' | 'worker' | 'admin' | 'cli' | 'dev'
  readonly pretty: boolean
}) {
  const base = { process: options.process }
  const { level } = options
  const write = createOutput()
  const format = options.pretty ? prettyFactory({ ignore: 'process' }) : undefined
  const log = format
    ? pino({ level, base }, { write: (line) => write(format(line)) })
    : pino(
        {
          level,
          base,
          timestamp: pino.stdTimeFunctions.isoTime,
          formatters: { level: (name) => ({ level: name }) },
        },
        { write },
      )
  const logAt =
    (at: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}) =>
      log[at](pick(fields), event)
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
}

/**
 * Returns what writes lines to stdout, without waiting for them. After a failure the lines that still wait are lost, and
 * the next one is tried again: a closed terminal fails for ever, a full disk only for a while.
 */
function createOutput(): (line: string) => void {
  let output: ReturnType<typeof pino.destination> | undefined
  const open = () => {
    const opened = pino.destination({ sync: false })
    opened.on('error', () => {
      opened.destroy()
      if (output === opened) output = undefined
    })
    return opened
  }
  return (line) => void (output ??= open()).write(line)
}

/**
 * Returns only the known fields. TypeScript checks nothing at run time, so a caller could pass other fields
 * in spite of `LogFields`.
 */
function pick({ error, ...given }: LogFields): Record<string, unknown> {
  const known = Object.entries(given).filter(([name]) => knownFields.has(name))
  const shown = error === undefined ? undefined : describeError(error)
  return defined({ ...Object.fromEntries(known), error: shown })
}

/** Returns what the log shows of an error. Leaves out the message, because messages of libraries quote values. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  // Of the path of a file only its name.
  const place = /^at (.*?)\(?(?:file:\/\/)?[^ (]*\/([^/)]+)\)?$/
  const at = frames.slice(0, 6).map((line) => line.trim().replace(place, '$1$2'))
  return { name: error.name, ...defined({ code }), at }
}
