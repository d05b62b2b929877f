import type { Command } from 'commander'
import { channelJson, channelTable, noSuchChannel } from './channelView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'

/** `channel resume NAME`: JSON of one channel. Refused for a channel that no worker has named. */
export function channelResume(context: CliContext): Command {
  return leaf({
    usage: 'resume <name>',
    description:
      'call a channel again: ends its pause, which waiting tasks notice within a minute, and its cooldowns, for new tasks',
    examples: ['channel resume a-main'],
  }).action(async (name: string) => {
    const channel = await (await context.parts.channels()).resumeChannel(name)
    if (channel === undefined) throw noSuchChannel(name)
    context.show({ json: channelJson(channel), text: channelTable([channel]) })
  })
}
