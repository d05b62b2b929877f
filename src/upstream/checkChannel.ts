import { tmpdir } from 'node:os'
import { createAnswerBody } from './answerBody.ts'
import { callUrl, commonHeaders, credentialHeader, readCredential } from './channelRequest.ts'
import { defined } from '../domain/defined.ts'
import { modelsOf } from '../domain/models/models.ts'
import type { Channel, channelCheckResults } from '../domain/upstream/channel.ts'
import { readErrorAnswer } from './errorAnswer.ts'
import type { Answer } from './exchange.ts'
import { exchange } from './exchange.ts'
import type { FamilyAdapter } from './familyAdapters.ts'
import { familyAdapters } from './familyAdapters.ts'
import { createUpstreamConnections } from './upstreamConnections.ts'

/** What a call that costs nothing showed about a channel. */
export type ChannelCheck = {
  readonly result: (typeof channelCheckResults)[number]
  readonly url: string
  /** The name of the header that carries the credential. */
  readonly header: string
  readonly httpStatus?: number
  /** The time from the request to the headers of the answer. */
  readonly latencyMs?: number
  /** The system's code for a failed connection. Absent when there was no answer in time. */
  readonly reason?: string
}

const checkMsMax = 5_000

/**
 * Makes one call that costs nothing on a channel: GET on its path `check`, over the same connection settings and
 * with the same header and query as a paid call. The call takes at most five seconds. Follows no redirect.
 */
export async function checkChannel(channel: Channel): Promise<ChannelCheck> {
  const model = Object.keys(channel.models)[0] ?? modelsOf[channel.family][0]
  const url = callUrl(channel, 'check', model)
  const credential = await readCredential(channel)
  const asked = { url, header: Object.keys(credentialHeader(channel, ''))[0] ?? '' }
  if (credential === undefined || credential === '') return { ...asked, result: 'no_credential' }
  return { ...asked, ...(await ask(channel, url, credential)) }
}

async function ask(
  channel: Channel,
  url: string,
  credential: string,
): Promise<Omit<ChannelCheck, 'url' | 'header'>> {
  const agent = createUpstreamConnections()
  const { origin, pathname, search } = new URL(url)
  const headers = commonHeaders(channel, credential)
  const options = { origin, path: pathname + search, method: 'GET', headers } as const
  try {
    const signal = AbortSignal.timeout(checkMsMax)
    const body = createAnswerBody(tmpdir())
    const answer = await exchange(agent, options, { signal, body })
    const result = await resultOf(answer, familyAdapters[channel.family])
    const { status, elapsedMs: latencyMs } = answer
    return { result, httpStatus: status, latencyMs: Math.round(latencyMs) }
  } catch (error) {
    return { result: 'unreachable', ...defined({ reason: reasonOf(error) }) }
  } finally {
    await agent.destroy()
  }
}

/** The statuses of a server that has no such call. They say nothing about the credential. */
const noSuchCall: readonly number[] = [404, 405, 501]

async function resultOf(
  answer: Answer,
  { errorIn }: FamilyAdapter,
): Promise<ChannelCheck['result']> {
  const { status } = answer
  if (status >= 200 && status <= 299) return 'accepted'
  if (noSuchCall.includes(status)) return 'not_checked'
  if (status === 401 || status === 403) return 'refused'
  // Family A answers 400 to a wrong key. Only the body names the reason.
  const { reason } = await readErrorAnswer(answer, { nowMs: Date.now(), errorIn })
  return reason === 'credential' ? 'refused' : 'unclear'
}

/**
 * Returns the system's code for a failed connection, such as ENOTFOUND, ECONNREFUSED or CERT_HAS_EXPIRED.
 * Returns `undefined` when there is none, which is so when the time was over.
 */
function reasonOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
