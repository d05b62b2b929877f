import type { Command } from 'commander'
import { channelJson, channelTable, noSuchChannel } from './channelView.ts'
import type { CliContext } from './context.ts'
import { leaf } from './leaf.ts'

/** `channel pause NAME`: JSON of one channel. Refused for a channel that no worker has named. */
export function channelPause(context: CliContext): Command {
  return leaf({
    usage: 'pause <name>',
    description: 'begin no more calls on a channel; calls under way finish, tasks wait',
    examples: ['channel pause a-main --reason "key rotation"'],
  })
    .option('--reason <text>', 'shown in channel list', 'paused by the operator')
    .action(async (name: string, { reason }: { readonly reason: string }) => {
      const channel = await (await context.parts.channels()).pauseChannel(name, reason)
      if (channel === undefined) throw noSuchChannel(name)
      context.show({ json: channelJson(channel), text: channelTable([channel]) })
    })
}
