import type { Channel } from '../upstream/channel.ts'

/**
 * Returns the channels of a family in the order in which a task tries them. Without weights this is the operator's
 * order. With weights the order is drawn: among any of the channels, for example those that are free now, each one comes
 * first with a probability in proportion to its weight. `random` returns a number in [0, 1).
 *
 * Each channel gets a time from an exponential distribution whose rate is its weight, and the earliest time comes
 * first. The minimum of such times is distributed as the weights (Efraimidis and Spirakis, Weighted random
 * sampling with a reservoir, 2006).
 */
export function orderChannels(
  channels: readonly Channel[],
  random: () => number,
): readonly Channel[] {
  if (channels.every(({ weight }) => weight === undefined)) return channels
  return channels
    .map((channel) => ({ channel, drawn: -Math.log(1 - random()) / (channel.weight ?? 1) }))
    .toSorted((one, other) => one.drawn - other.drawn)
    .map(({ channel }) => channel)
}
