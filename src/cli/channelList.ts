import type { Command } from 'commander'
import { channelJson, channelTable } from './channelView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'

/** `channel list`: JSON is an array of channels. */
export function channelList(context: CliContext): Command {
  return leaf({
    usage: 'list',
    description: 'list the upstream channels: paused, calls under way, cooling down',
    examples: ['channel list'],
  }).action(async () => {
    const channels = await (await context.parts.channels()).listChannels()
    context.show({ json: channels.map(channelJson), text: channelTable(channels) })
  })
}
