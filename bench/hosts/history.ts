import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'

/**
 * The history of a run: one JSON object per line, in any order, appended by one process or several. The referee reads
 * nothing else. It has digests and markers, and never a prompt, a key or a secret.
 *
 * All times are epoch milliseconds of the machine's true clock, as the process that records it sees them, and never those of a
 * part whose clock a fault has moved. `from` is before the first byte of a request and `at` after the last byte of
 * its answer, so that of two exchanges one was first when it was over before the other began.
 */

const [text, count, ms] = [z.string(), z.number(), z.number()]
/** The first 16 hexadecimal digits of a SHA-256: `digestOf`. */
const digest = z.string()
/** One thing of many clients. Absent: the value does not apply, or the answer was lost. */
const exchange = { from: ms, at: ms, account: text, status: count.optional() }
/** The record of a task as somebody read it. Of a webhook it is the event's. */
const record = z.object({ status: text, progress: count, code: text.optional(), digest })

const entrySchema = z.discriminatedUnion('type', [
  /** What the run promises about itself. There is one. */
  z.object({
    type: z.literal('run'),
    at: ms,
    seed: count,
    commit: text,
    /** `UPSTREAM_CALLS_MAX`. */
    callsMax: count,
    /** How long a request may be on its way between two parts, with all delays that were injected. */
    slackMs: ms,
    /** A long run fails when it did not reach each rare state. */
    long: z.boolean(),
  }),
  /** A try of a request that makes a task, with its answer. */
  z.object({
    type: z.literal('submit'),
    ...exchange,
    /** The start of the prompt, up to the semicolon. No other request has it. */
    marker: text,
    /** Of the Idempotency-Key: the whole SHA-256, as in PostgreSQL. */
    key: text.optional(),
    door: z.enum(['async', 'sync', 'stream']),
    model: text,
    /** Digest of what was asked. A replay has the same. */
    body: digest,
    /** `task_id` or `X-Task-Id`. */
    task: text.optional(),
    code: text.optional(),
    /** `Idempotent-Replayed`, `X-Credits-Held`, `X-Credits-Charged`, `Retry-After` and `x-should-retry`. */
    replayed: z.boolean().optional(),
    held: count.optional(),
    charged: count.optional(),
    retryAfter: text.optional(),
    shouldRetry: z.boolean().optional(),
    /** Of a synchronous answer: the digest of its image. */
    image: digest.optional(),
  }),
  /** A read of a task: a lookup, a wait, an event of the stream, or a line of a list. */
  z.object({
    type: z.literal('read'),
    ...exchange,
    /** The reads of one observer are in order. `end`: after all tasks have ended. */
    observer: text,
    /** Whose key was sent in `account`; the task may be another's. */
    task: text,
    record: record.optional(),
    charged: count.optional(),
  }),
  /** A download of a task's image. `pixels` is missing when the bytes do not decode. */
  z.object({
    type: z.literal('image'),
    from: ms,
    at: ms,
    task: text,
    status: count.optional(),
    /** How the address was changed: not at all, to another form of the image, or so that its signature is wrong. */
    address: z.enum(['given', 'variant', 'forged']),
    image: digest.optional(),
    pixels: count.optional(),
  }),
  z.object({
    type: z.literal('cancel'),
    ...exchange,
    task: text,
    code: text.optional(),
    charged: count.optional(),
  }),
  /** `DELETE /v1/tasks/{id}`. */
  z.object({ type: z.literal('deletion'), ...exchange, task: text }),
  /** `GET /v1/account` and the total of `GET /v1/usage` over all time. */
  z.object({
    type: z.literal('books'),
    ...exchange,
    observer: text,
    available: count,
    held: count,
    spent: count,
    usage: z.object({ credits: count, succeeded: count, failed: count }).optional(),
  }),
  /** One model of `GET /v1/models`, as the API says it. */
  z.object({
    type: z.literal('model'),
    model: text,
    family: text,
    sizes: z.array(text),
    prices: z.array(
      z.object({
        size: text.optional(),
        quality: text.optional(),
        action: text.optional(),
        credits: count,
        credits_per_input_image: count,
      }),
    ),
  }),
  /** A webhook of an account began or was deleted: from then on the owner knew it. */
  z.object({
    type: z.literal('hook'),
    at: ms,
    hook: text,
    account: text,
    is: z.enum(['registered', 'deleted']),
  }),
  /** A request that a receiver of webhooks got. */
  z.object({
    type: z.literal('delivery'),
    at: ms,
    hook: text,
    /** `webhook-id`. */
    id: text,
    /** Why `standardwebhooks` refuses the signature. Absent: it is right. */
    refused: text.optional(),
    event: text,
    task: text.optional(),
    record: record.optional(),
    body: digest,
    /** What the receiver answered. Absent: it did not, or not to the end. */
    status: count.optional(),
  }),
  /** A call that the upstream got. `from`: its headers arrived; `at`: the answer was over. */
  z.object({
    type: z.literal('call'),
    from: ms,
    at: ms,
    id: text,
    marker: text.optional(),
    /** Digest of the key under which the upstream counts repeats as one order. */
    key: digest.optional(),
    model: text,
    /** Digest of the credential: calls of one channel have the same. */
    channel: text,
    status: count.optional(),
    /** The wait that a refusal asked for. */
    retryAfterMs: ms.optional(),
    /** The upstream counts the call as one to pay. */
    paid: z.boolean(),
    /** The connection ended before the whole answer. */
    cut: z.boolean(),
  }),
  z.object({ type: z.literal('fault'), from: ms, at: ms, kind: text, parts: z.array(text) }),
  /** A state that is rarely reached, and how often the run has. 0 says that the run looked for it. */
  z.object({ type: z.literal('rare'), at: ms, state: text, count }),
  /** What remains when all is over: rows of PostgreSQL and objects of the bucket. Credits are whole numbers. */
  z.object({
    type: z.literal('taskRow'),
    task: text,
    account: text,
    key: text.optional(),
    route: text,
    model: text,
    action: text,
    size: text.optional(),
    quality: text.optional(),
    status: text,
    code: text.optional(),
    credits: count,
    createdAt: ms,
    completedAt: ms.optional(),
    /** `asset_sha256`. */
    image: digest.optional(),
  }),
  z.object({
    type: z.literal('ledgerRow'),
    entry: count,
    account: text,
    task: text.optional(),
    kind: text,
    credits: count,
    at: ms,
  }),
  z.object({
    type: z.literal('attemptRow'),
    task: text,
    n: count,
    channel: text,
    model: text,
    openedAt: ms,
    closedAt: ms.optional(),
    class: text.optional(),
    /** The `id` of the call, if its answer said it. */
    call: text.optional(),
  }),
  z.object({ type: z.literal('blob'), name: text, bytes: count, digest }),
])

/** One line of a history. */
export type Entry = z.infer<typeof entrySchema>
export type EntryType = Entry['type']
export type EntryOf<Type extends EntryType> = Extract<Entry, { readonly type: Type }>

/** Appends entries to a file. Other processes may append to it too: a line is one write. */
export type Recorder = { readonly add: (entry: Entry) => void; readonly close: () => void }

export function openRecorder(path: string): Recorder {
  const file = openSync(path, 'a', 0o600)
  return {
    add: (entry) => void writeSync(file, `${JSON.stringify(entry)}\n`),
    close: () => closeSync(file),
  }
}

/** Reads a history. Throws for a line that is none, such as the last one of a process that was killed while it wrote. */
export function readHistory(path: string): readonly Entry[] {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  return lines.map((line, n) => {
    const parsed = entrySchema.safeParse(JSON.parse(line))
    if (!parsed.success) throw new Error(`line ${n + 1}: ${z.prettifyError(parsed.error)}`)
    return parsed.data
  })
}

export function digestOf(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
