import { readFile } from 'node:fs/promises'
import type { ModelId } from '../domain/models/models.ts'
import type { Channel, ChannelPaths } from '../domain/upstream/channel.ts'
import { credentialIn, upstreamModelName } from '../domain/upstream/channel.ts'
import { familyAdapters } from './familyAdapters.ts'

/** Returns the URL of a call on this channel. A model name may contain slashes. */
export function callUrl(channel: Channel, call: keyof ChannelPaths, model: ModelId): string {
  const paths = { ...familyAdapters[channel.family].paths, ...channel.paths }
  const path = paths[call] ?? paths.generate
  const name = upstreamModelName(channel, model).split('/').map(encodeURIComponent).join('/')
  const query = new URLSearchParams(channel.query).toString()
  return `${channel.baseUrl}${path.replaceAll('{model}', name)}${query === '' ? '' : `?${query}`}`
}

/** Returns the header that carries the credential, as the upstream of this channel wants it. */
export function credentialHeader(
  { family, apiKeyHeader, apiKeyPrefix }: Channel,
  credential: string,
): Readonly<Record<string, string>> {
  const name = apiKeyHeader?.toLowerCase() ?? familyAdapters[family].credentialHeader
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
