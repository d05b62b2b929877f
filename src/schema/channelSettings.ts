import { z } from 'zod'
import type { Family } from '../domain/models/models.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import { families } from '../domain/models/models.ts'

const name = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/, 'letters, digits, . _ - (64 at most)')

/**
 * The base URL of a channel. It must have no query and no fragment, because the path of a call is appended to
 * it.
 */
const baseUrl = z
  .url({ protocol: /^https?$/, abort: true })
  .refine((text) => {
    const { username, password } = new URL(text)
    return username + password === '' && !/[?#]/.test(text)
  }, 'must not carry credentials, a query or a fragment')
  .transform((text) => text.replace(/\/+$/, ''))

/** What a call says by itself, or what belongs to its connection. */
const ownHeaders =
  /^(?:accept|accept-encoding|connection|content-.+|expect|host|idempotency-key|keep-alive|proxy-.+|te|trailer|transfer-encoding|upgrade|user-agent)$/i

/** A credential has a field of its own, whose value is never shown. */
const looksLikeCredential = /auth|cookie|key|secret|token/i

const headers = z
  .record(
    z
      .string()
      .regex(/^[0-9A-Za-z-]{1,64}$/, 'the name of a header: letters, digits and -')
      .refine((header) => !ownHeaders.test(header), 'a header that every call has already')
      .refine(
        (header) => !looksLikeCredential.test(header),
        'looks like a credential: use apiKeyEnv or apiKeyFile with apiKeyHeader',
      ),
    z
      .string()
      .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,498}[\x21-\x7e])?$/, '1 to 500 ASCII characters'),
  )
  .refine((given) => Object.keys(given).length <= 20, 'at most 20 headers')

const extraFields = z
  .record(
    z.string().regex(/^[A-Za-z][0-9A-Za-z_.-]{0,63}$/, 'letters, digits, _ . - (64 at most)'),
    z.union([z.string().max(1_000), z.number(), z.boolean()]),
  )
  .refine((given) => Object.keys(given).length <= 20, 'at most 20 fields')

/** What a channel of a family may set. */
type ChannelRules = {
  /** The fields that Darkroom sends itself, in lower case and without underscores. */
  readonly ownFields: readonly string[]
  readonly hasSafetyIdentifier: boolean
  /** Whether edits have a path of their own. */
  readonly hasEditPath: boolean
  /** Whether the path of a call names the model. */
  readonly modelIsInPath: boolean
}

const channelRules: Readonly<Record<Family, ChannelRules>> = {
  A: {
    ownFields: [
      'contents',
      'generationconfig',
      'inlinedata',
      'model',
      'safetysettings',
      'systeminstruction',
      'tools',
    ],
    hasSafetyIdentifier: false,
    hasEditPath: false,
    modelIsInPath: true,
  },
  B: {
    ownFields: [
      'image',
      'model',
      'n',
      'outputformat',
      'prompt',
      'quality',
      'safetyidentifier',
      'size',
    ],
    hasSafetyIdentifier: true,
    hasEditPath: true,
    modelIsInPath: false,
  },
}

/** The path of a call, which is appended to the base URL. */
const path = z
  .string()
  .max(500)
  .regex(
    /^(?:\/(?:[0-9A-Za-z._~:@!$&'()*+,;=%-]|\{model\})+)+$/,
    'begins with /, and contains no query, no empty segment, and no braces except {model}',
  )
  .refine((text) => !/(?:^|\/)\.{1,2}(?:\/|$)/.test(text), 'must not contain the segment . or ..')

/** One channel of the operator's file. */
export const channelSettings = z.strictObject({
  name,
  family: z.enum(families),
  baseUrl,
  /** The name of the environment variable that contains the credential of the channel. */
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')
    .optional(),
  /** The file that contains the credential, instead of a variable. It is read again for each call. */
  apiKeyFile: z.string().startsWith('/', 'an absolute path').max(1_000).optional(),
  apiKeyHeader: z
    .string()
    .regex(/^[0-9A-Za-z-]{1,64}$/, 'the name of a header: letters, digits and -')
    .refine((header) => !ownHeaders.test(header), 'a header that every call has already')
    .optional(),
  apiKeyPrefix: z
    .string()
    .regex(/^[\x20-\x7e]{0,32}$/, 'at most 32 ASCII characters')
    .optional(),
  query: z
    .record(
      z.string().regex(/^[0-9A-Za-z._~$-]{1,64}$/, 'letters, digits, . _ ~ $ - (64 at most)'),
      z.string().min(1).max(200),
    )
    .optional(),
  headers: headers.optional(),
  extraFields: extraFields.optional(),
  /** Whether each call tells the vendor a stable digest of the account that asks. */
  safetyIdentifier: z.boolean().optional(),
  paths: z
    .strictObject({ generate: path.optional(), edit: path.optional(), check: path.optional() })
    .optional(),
  models: z.record(z.string(), z.string().min(1).max(200)).default({}),
  timeoutSeconds: z.number().min(1).max(3600).default(600),
  concurrencyMax: z.int().min(1).max(10_000).default(50),
  /** Whether the vendor does no work, and charges nothing, when it answers a 5xx itself. */
  errorsAreFree: z.boolean().default(false),
  /**
   * The share of the calls, in proportion to the weights of the other free channels of the family. A channel without one
   * beside others that have one counts as 1.
   */
  weight: z.int().min(1).max(1_000).optional(),
})

/** A mistake, and where in the file it stands. */
export type Fault = readonly [path: readonly (string | number)[], message: string]

/** Yields the mistakes of a channel that one field alone does not show. `index` is its place in the file. */
export function* channelFaults(
  index: number,
  channel: z.infer<typeof channelSettings>,
  models: ModelTable,
): Generator<Fault> {
  const { family, apiKeyEnv, apiKeyFile, apiKeyHeader = '', paths = {} } = channel
  const rules = channelRules[family]
  for (const model of Object.keys(channel.models)) {
    const known = models.get(model)?.family
    if (known === family) continue
    const message = known === undefined ? 'is no model' : 'is a model of another family'
    yield [['channels', index, 'models', model], message]
  }
  if ((apiKeyEnv === undefined) === (apiKeyFile === undefined)) {
    yield [['channels', index, 'apiKeyEnv'], 'give either apiKeyEnv or apiKeyFile']
  }
  const taken = new Set([apiKeyHeader.toLowerCase()])
  for (const header of Object.keys(channel.headers ?? {})) {
    if (taken.has(header.toLowerCase())) {
      const message = 'is the header of the credential, or stands twice'
      yield [['channels', index, 'headers', header], message]
    }
    taken.add(header.toLowerCase())
  }
  for (const field of Object.keys(channel.extraFields ?? {})) {
    if (rules.ownFields.includes(field.toLowerCase().replaceAll('_', ''))) {
      yield [['channels', index, 'extraFields', field], 'a field that Darkroom sends itself']
    }
  }
  if (channel.safetyIdentifier === true && !rules.hasSafetyIdentifier) {
    yield [['channels', index, 'safetyIdentifier'], `family ${family} has no such field`]
  }
  if (paths.edit !== undefined && !rules.hasEditPath) {
    yield [['channels', index, 'paths', 'edit'], `family ${family} edits with the path generate`]
  }
  if (rules.modelIsInPath && paths.generate?.includes('{model}') === false) {
    yield [['channels', index, 'paths', 'generate'], 'must contain {model}']
  }
}
