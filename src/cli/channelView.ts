import type { ChannelStatus } from '../domain/ports/channelAdmin.ts'
import { iso, isoOrNull, shortTime } from './moment.ts'
import { Refusal } from './refusal.ts'
import { table } from './table.ts'

/** A channel in JSON: `name, paused_at, pause_reason, in_flight, cooldowns`. */
export function channelJson(channel: ChannelStatus) {
  return {
    name: channel.name,
    paused_at: isoOrNull(channel.pausedAtMs),
    pause_reason: channel.pauseReason ?? null,
    in_flight: channel.inFlight,
    cooldowns: channel.cooldowns.map(({ model, untilAtMs }) => ({ model, until: iso(untilAtMs) })),
  }
}

/** Channels for people. */
export function channelTable(channels: readonly ChannelStatus[]): string {
  return table(
    ['CHANNEL', 'STATE', 'CALLS', 'COOLING DOWN', 'REASON'],
    channels.map(({ name, pausedAtMs, pauseReason, inFlight, cooldowns }) => [
      name,
      pausedAtMs === undefined ? 'active' : `paused ${shortTime(pausedAtMs)}`,
      inFlight,
      cooldowns
        .map(({ model, untilAtMs }) => `${model} until ${shortTime(untilAtMs)}`)
        .join(', ') || undefined,
      pauseReason,
    ]),
    'No channels yet: a worker makes them known when it starts.',
  )
}

/** For names that no worker has started with. */
export function noSuchChannel(name: string): Refusal {
  return new Refusal(
    `There is no channel named ${JSON.stringify(name)}. See: darkroom channel list`,
  )
}
