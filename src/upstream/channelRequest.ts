import { readFile } from 'node:fs/promises'
import type { Family, ModelId } from '../domain/models/models.ts'
import type { Channel, ChannelPaths } from '../domain/upstream/channel.ts'
import { credentialIn, upstreamModelName } from '../domain/upstream/channel.ts'

/**
 * The paths of the vendors' own APIs. The Gemini API and the OpenAI API both list their models without a
 * charge.
 */
const defaultPaths: Readonly<Record<Family, Required<ChannelPaths>>> = {
  A: {
    generate: '/v1beta/models/{model}:generateContent',
    edit: '/v1beta/models/{model}:generateContent',
    check: '/v1beta/models',
  },
  B: { generate: '/images/generations', edit: '/images/edits', check: '/models' },
}

/** Returns the URL of a call on this channel. A model name may contain slashes. */
export function callUrl(channel: Channel, call: keyof ChannelPaths, model: ModelId): string {
  const paths = { ...defaultPaths[channel.family], ...channel.paths }
  // Family A has one method for both actions.
  const path = channel.family === 'A' && call === 'edit' ? paths.generate : paths[call]
  const name = upstreamModelName(channel, model).split('/').map(encodeURIComponent).join('/')
  const query = new URLSearchParams(channel.query).toString()
  return `${channel.baseUrl}${path.replaceAll('{model}', name)}${query === '' ? '' : `?${query}`}`
}

/** Returns the header that carries the credential, as the upstream of this channel wants it. */
export function credentialHeader(
  { family, apiKeyHeader, apiKeyPrefix }: Channel,
  credential: string,
): Readonly<Record<string, string>> {
  const name = apiKeyHeader?.toLowerCase() ?? (family === 'A' ? 'x-goog-api-key' : 'authorization')
  const prefix = apiKeyPrefix ?? (name === 'authorization' ? 'Bearer ' : '')
  return { [name]: `${prefix}${credential}` }
}

/** Returns the headers of every call on this channel, a free one too: its own, and those of all calls. */
export function commonHeaders(
  channel: Channel,
  credential: string,
): Readonly<Record<string, string>> {
  return {
    ...channel.headers,
    ...credentialHeader(channel, credential),
    accept: 'application/json',
    'user-agent': 'darkroom',
  }
}

/** Limit for reading the file of a credential. */
const readMsMax = 2_000

/**
 * Returns the credential of a channel. A file is read each time, because short-lived tokens are replaced while
 * the worker runs. Returns `undefined` when the file cannot be read, or contains no credential.
 */
export async function readCredential({ apiKey, apiKeyFile }: Channel): Promise<string | undefined> {
  if (apiKeyFile === undefined) return apiKey
  try {
    const signal = AbortSignal.timeout(readMsMax)
    return credentialIn(await readFile(apiKeyFile, { encoding: 'utf8', signal }))
  } catch {
    return undefined
  }
}
