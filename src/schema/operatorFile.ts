import { z } from 'zod'
import type { Family, ImageSize, ModelId } from '../domain/models/models.ts'
import {
  actions,
  aspectRatios,
  familyOf,
  imageSizes,
  modelIds,
  qualities,
  sizesOf,
  thinkingLevels,
} from '../domain/models/models.ts'

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

/** The fields that Darkroom sends itself, in lower case and without underscores. */
const ownFields: Readonly<Record<Family, readonly string[]>> = {
  A: ['contents', 'generationconfig', 'model', 'safetysettings', 'systeminstruction', 'tools'],
  B: ['image', 'model', 'n', 'outputformat', 'prompt', 'quality', 'safetyidentifier', 'size'],
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

const channelFields = z.strictObject({
  name,
  family: z.enum(['A', 'B']),
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
  models: z.partialRecord(z.enum(modelIds), z.string().min(1).max(200)).default({}),
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

const credits = z.int().min(0).max(1_000_000_000)

const price = z.strictObject({
  model: z.enum(modelIds),
  size: z.enum(imageSizes).optional(),
  quality: z.enum(qualities).optional(),
  action: z.enum(actions).optional(),
  credits,
  creditsPerInputImage: credits.default(0),
})

const capabilities = z.strictObject({
  sizes: z.array(z.enum(imageSizes)).optional(),
  /** Whether the size is sent upstream. Default: the built-in value, or true when `sizes` adds a size. */
  sizeIsSent: z.boolean().optional(),
  aspectRatios: z.array(z.enum(aspectRatios)).optional(),
  /** An empty list says that the model takes no `thinkingConfig`. */
  thinkingLevels: z.array(z.enum(thinkingLevels)).optional(),
  usualDurationMs: z.int().min(1).max(3_600_000).optional(),
})

const fields = z.strictObject({
  channels: z.array(channelFields).min(1).max(100),
  prices: z.array(price).max(1000).default([]),
  capabilities: z.partialRecord(z.enum(modelIds), capabilities).default({}),
})

type Fault = readonly [path: readonly (string | number)[], message: string]

/**
 * Yields mistakes that one field alone does not show, such as two channels with the same name, a channel without a
 * credential, or a size that no request for the model can have.
 */
function* faultsAcross(file: z.infer<typeof fields>): Generator<Fault> {
  const seen = new Set<string>()
  for (const [index, channel] of file.channels.entries()) {
    if (seen.has(channel.name)) yield [['channels', index, 'name'], 'is used twice']
    seen.add(channel.name)
    yield* channelFaults(index, channel)
  }
  for (const [index, { model, size }] of file.prices.entries()) {
    if (size !== undefined) yield* foreignSizes(['prices', index, 'size'], model, [size])
  }
  for (const model of modelIds) {
    const given = file.capabilities[model] ?? {}
    const { sizes = [], aspectRatios: ratios = [], thinkingLevels: levels = [] } = given
    yield* foreignSizes(['capabilities', model, 'sizes'], model, sizes)
    if (familyOf(model) === 'B' && ratios.length > 0) {
      yield [['capabilities', model, 'aspectRatios'], 'models of this family take none']
    }
    if (familyOf(model) === 'B' && levels.length > 0) {
      yield [['capabilities', model, 'thinkingLevels'], 'models of this family take none']
    }
  }
}

function* channelFaults(index: number, channel: z.infer<typeof channelFields>): Generator<Fault> {
  const { family, apiKeyEnv, apiKeyFile, apiKeyHeader = '', paths = {} } = channel
  for (const model of modelIds) {
    if (channel.models[model] !== undefined && familyOf(model) !== family) {
      yield [['channels', index, 'models', model], 'is a model of the other family']
    }
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
    if (ownFields[family].includes(field.toLowerCase().replaceAll('_', ''))) {
      yield [['channels', index, 'extraFields', field], 'a field that Darkroom sends itself']
    }
  }
  if (family === 'B') return
  if (channel.safetyIdentifier === true) {
    yield [['channels', index, 'safetyIdentifier'], 'family A has no such field']
  }
  if (paths.edit !== undefined) {
    yield [['channels', index, 'paths', 'edit'], 'family A edits with the path generate']
  }
  if (paths.generate?.includes('{model}') === false) {
    yield [['channels', index, 'paths', 'generate'], 'must contain {model}']
  }
}

function* foreignSizes(
  path: Fault[0],
  model: ModelId,
  sizes: readonly ImageSize[],
): Generator<Fault> {
  const known = sizesOf[familyOf(model)]
  if (sizes.some((size) => !known.includes(size))) {
    yield [path, `models of this family take ${known.join(', ')}`]
  }
}

/**
 * The schema of the operator's file: channels, prices and capabilities. A file with an unknown field is
 * invalid.
 */
export const operatorFile = fields.superRefine((file, context) => {
  for (const [path, message] of faultsAcross(file)) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
})

export type OperatorFile = z.infer<typeof operatorFile>
