import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { isoTime, isoTimeOrNull, CommandError, shortTime, table } from './answer.ts'
import { createCommand, createCommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import type { ChannelStatus } from '../domain/ports/channelAdmin.ts'

/** Makes the commands `channel list`, `pause` and `resume`. */
export function channelCommands(context: CliContext): Command {
  return createCommandGroup('channel', 'upstream channels', [
    list(context),
    pause(context),
    resume(context),
  ])
}

function list(context: CliContext): Command {
  return createCommand({
    usage: 'list',
    description: 'list upstream channels with their pauses, calls under way and cooldowns',
    examples: ['channel list'],
  }).action(async () => {
    const channels = await (await context.parts.channels()).listChannels()
    context.show({ json: channels.map(channelJson), text: channelTable(channels) })
  })
}

/**
 * `channel pause`: pauses a channel. When the channel is already paused, keeps the time and reason of the
 * first pause.
 */
function pause(context: CliContext): Command {
  return createCommand({
    usage: 'pause <name>',
    description: 'start no new calls on a channel; calls under way finish',
    examples: ['channel pause a-main --reason "key rotation"'],
  })
    .option('--reason <text>', 'reason to show in channel list', 'paused by the operator')
    .action(async (name: string, { reason }: { readonly reason: string }) => {
      const channel = await (await context.parts.channels()).pauseChannel(name, reason)
      context.show(channelAnswer(name, channel))
    })
}

function resume(context: CliContext): Command {
  return createCommand({
    usage: 'resume <name>',
    description:
      'end the pause and the cooldowns of a channel: new tasks use it at once, tasks that wait for a paused channel within about a minute',
    examples: ['channel resume a-main'],
  }).action(async (name: string) => {
    const channel = await (await context.parts.channels()).resumeChannel(name)
    context.show(channelAnswer(name, channel))
  })
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
