import type { Channel } from '../upstream/channel.ts'

/**
 * Returns the channels of a family in the order in which a task tries them. Without weights this is the
 * operator's order. With weights the order is drawn for each task: among any of the channels, for example those
 * that are free now, each one comes first with a probability in proportion to its weight.
 *
 * The draw depends on nothing but the task's id and the names of the channels. So the gate and its fast path
 * agree, and a task keeps its order over all its attempts.
 *
 * Each channel gets a time from an exponential distribution whose rate is its weight, and the earliest time comes
 * first. The minimum of such times is distributed as the weights (Efraimidis and Spirakis, Weighted random
 * sampling with a reservoir, 2006).
 */
export function orderChannels(channels: readonly Channel[], taskId: string): readonly Channel[] {
  if (channels.length < 2 || channels.every(({ weight }) => weight === undefined)) return channels
  return channels
    .map((channel) => ({ channel, drawn: drawnTime(`${taskId} ${channel.name}`, channel.weight) }))
    .toSorted((one, other) => one.drawn - other.drawn)
    .map(({ channel }) => channel)
}

function drawnTime(text: string, weight = 1): number {
  return -Math.log((hash(text) + 0.5) / 2 ** 32) / weight
}

/**
 * Returns 32 bits that depend on every character: FNV-1a, and then the last step of MurmurHash3, which spreads the
 * difference of two similar texts over all bits.
 */
function hash(text: string): number {
  let bits = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    bits = Math.imul(bits ^ text.charCodeAt(at), 0x01000193)
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
