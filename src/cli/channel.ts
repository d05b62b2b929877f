import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { CommandError, shortTime, table } from './answer.ts'
import { isoTime, isoTimeOrNull } from '../domain/isoTime.ts'
import { createCommand, createGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { assertNever } from '../domain/assertNever.ts'
import type { ChannelStatus } from '../store/channels/channelAdmin.ts'
import type { ChannelCheck } from '../upstream/checkChannel.ts'

/** Makes the commands `channel list`, `pause`, `resume` and `check`. */
export function channelCommands(context: CliContext): Command {
  return createGroup(context, 'channel', 'upstream channels', [list, pause, resume, check])
}

function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list upstream channels with their pauses, calls under way and cooldowns',
    'channel list',
  ).action(async () => {
    const channels = await (await context.database()).channels.listChannels()
    context.show({ json: channels.map(channelJson), text: channelTable(channels) })
  })
}

/**
 * `channel pause`: pauses a channel. When the channel is already paused, keeps the time and reason of the
 * first pause.
 */
function pause(context: CliContext): Command {
  return createCommand(
    'pause <name>',
    'start no new calls on a channel; calls under way finish',
    'channel pause a-main --reason "key rotation"',
  )
    .option('--reason <text>', 'reason to show in channel list', 'paused by the operator')
    .action(async (name: string, { reason }: { readonly reason: string }) => {
      const channel = await (await context.database()).channels.pauseChannel(name, reason)
      context.show(channelAnswer(name, channel))
    })
}

function resume(context: CliContext): Command {
  return createCommand(
    'resume <name>',
    'end the pause and the cooldowns of a channel: new tasks use it at once, tasks that wait for a paused channel within about a minute',
    'channel resume a-main',
  ).action(async (name: string) => {
    const channel = await (await context.database()).channels.resumeChannel(name)
    context.show(channelAnswer(name, channel))
  })
}

function check(context: CliContext): Command {
  return createCommand(
    'check <name>',
    "make one call that costs nothing on a channel of the operator's file: can it be reached, and does it accept the credential",
    'channel check a-main',
  ).action(async (name: string) => {
    const checked = await (await context.service()).checkChannel(name)
    if (checked === undefined) {
      throw new CommandError(
        `The operator's file (DARKROOM_CONFIG) has no channel named ${JSON.stringify(name)}.`,
      )
    }
    context.show(checkAnswer(name, checked))
  })
}

function checkAnswer(name: string, checked: ChannelCheck): Answer {
  const { result, url, header, httpStatus, latencyMs, reason } = checked
  const sent = result === 'no_credential' ? 'Nothing was sent to' : 'Sent, without a charge: GET'
  const status = httpStatus === undefined ? '' : `, HTTP ${httpStatus} after ${latencyMs} ms`
  return {
    json: {
      name,
      result,
      url,
      header,
      http_status: httpStatus ?? null,
      latency_ms: latencyMs ?? null,
      reason: reason ?? null,
    },
    text: `${sent} ${url} (credential in ${header})\n${result}${status}: ${explained(checked)}`,
    exitCode: result === 'accepted' || result === 'not_checked' ? 0 : 1,
  }
}

function explained({ result, reason }: ChannelCheck): string {
  switch (result) {
    case 'accepted':
      return 'the upstream accepts the credential.'
    case 'refused':
      return 'the upstream refuses the credential. Check it, apiKeyHeader and apiKeyPrefix.'
    case 'not_checked':
      return 'the upstream can be reached and has no such call, so the credential was not checked. Set paths.check if it has one elsewhere.'
    case 'unclear':
      return 'the upstream can be reached, and its answer says nothing about the credential. Try again later.'
    case 'unreachable':
      return `no answer: ${reason ?? 'the time of 5 s was over'}. Check baseUrl, the network and TLS.`
    case 'no_credential':
      return 'the variable of apiKeyEnv is not set in this environment, or the file of apiKeyFile cannot be read.'
    default:
      return assertNever(result)
  }
}

/** Returns the answer about one channel. Throws `CommandError` if there is no such channel. */
function channelAnswer(name: string, channel: ChannelStatus | undefined): Answer {
  if (channel === undefined) {
    throw new CommandError(
      `There is no channel named ${JSON.stringify(name)}. See: darkroom channel list`,
    )
  }
  return { json: channelJson(channel), text: channelTable([channel]) }
}

function channelJson(channel: ChannelStatus) {
  return {
    name: channel.name,
    paused_at: isoTimeOrNull(channel.pausedAtMs),
    pause_reason: channel.pauseReason ?? null,
    in_flight: channel.inFlight,
    cooldowns: channel.cooldowns.map(({ model, untilAtMs }) => ({
      model,
      until: isoTime(untilAtMs),
    })),
  }
}

function channelTable(channels: readonly ChannelStatus[]): string {
  return table(
    ['CHANNEL', 'STATE', 'CALLS', 'COOLDOWNS', 'REASON'],
    channels.map(({ name, pausedAtMs, pauseReason, inFlight, cooldowns }) => [
      name,
      pausedAtMs === undefined ? 'active' : `paused ${shortTime(pausedAtMs)}`,
      inFlight,
      cooldowns
        .map(({ model, untilAtMs }) => `${model} until ${shortTime(untilAtMs)}`)
        .join(', ') || undefined,
      pauseReason,
    ]),
    'No channels yet: a worker registers its channels when it starts.',
  )
}
