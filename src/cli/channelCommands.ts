import type { Command } from 'commander'
import type { Answer } from './answer.ts'
import { shortTime, table, valueOf } from './answer.ts'
import { createCommand, createGroup } from './createCommand.ts'
import type { CliContext } from './cliContext.ts'
import { assertNever } from '../domain/assertNever.ts'
import { pauseReasonDefault } from '../domain/upstream/channel.ts'
import type { ChannelCheckJson } from '../operations/channels.ts'
import * as channels from '../operations/channels.ts'
import type { ChannelJson } from '../store/channels/channelAdmin.ts'
import { parseReason } from './parse.ts'

/** Makes the commands `channel list`, `pause`, `resume` and `check`. */
export function channelCommands(context: CliContext): Command {
  return createGroup(context, 'channel', 'upstream channels', [list, pause, resume, check])
}

function list(context: CliContext): Command {
  return createCommand(
    'list',
    'list upstream channels with their pauses, calls under way, cooldowns and what they declined',
    'channel list',
  ).action(async () => {
    const { data } = valueOf(await channels.listChannels(await context.operator()))
    context.show({ json: data, text: channelTable(data) })
  })
}

/**
 * `channel pause`: pauses a channel. When the channel is already paused, keeps the time and reason of the
 * first pause.
 */
function pause(context: CliContext): Command {
  return createCommand(
    'pause <name>',
    'start no new calls on a channel; tasks wait, and synchronous calls without another one fail',
    'channel pause a-main --reason "key rotation"',
  )
    .option('--reason <text>', 'reason to show in channel list', parseReason, pauseReasonDefault)
    .action(async (name: string, { reason }: { readonly reason: string }) => {
      const paused = await channels.pauseChannel(await context.operator(), { name, reason })
      context.show(channelAnswer(valueOf(paused)))
    })
}

function resume(context: CliContext): Command {
  return createCommand(
    'resume <name>',
    'end the pause and the cooldowns of a channel: new tasks use it at once, tasks that wait for a paused channel within about a minute',
    'channel resume a-main',
  ).action(async (name: string) => {
    const resumed = await channels.resumeChannel(await context.operator(), name)
    context.show(channelAnswer(valueOf(resumed)))
  })
}

function check(context: CliContext): Command {
  return createCommand(
    'check <name>',
    "make one call that costs nothing on a channel of the operator's file: can it be reached, and does it accept the credential",
    'channel check a-main',
  ).action(async (name: string) => {
    const { parts } = context.service()
    context.show(checkAnswer(valueOf(await channels.checkChannel(parts, name))))
  })
}

function checkAnswer(checked: ChannelCheckJson): Answer {
  const { result, url, header, http_status: httpStatus, latency_ms: latencyMs } = checked
  const sent = result === 'no_credential' ? 'Nothing was sent to' : 'Sent, without a charge: GET'
  const status = httpStatus === null ? '' : `, HTTP ${httpStatus} after ${latencyMs} ms`
  return {
    json: checked,
    text: `${sent} ${url} (credential in ${header})\n${result}${status}: ${explained(checked)}`,
    exitCode: result === 'accepted' || result === 'not_checked' ? 0 : 1,
  }
}

function explained({ result, reason }: ChannelCheckJson): string {
  switch (result) {
    case 'accepted':
      return (
        'the upstream accepts the credential. This call cannot see whether the models exist there, the organization ' +
        'is verified for images, and credit is left: the first image shows it.'
      )
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

function channelAnswer(channel: ChannelJson): Answer {
  return { json: channel, text: channelTable([channel]) }
}

function declinedText({ http_status, code, calls }: ChannelJson['declined'][number]): string {
  return `${calls} × ${[http_status, code].filter(Boolean).join(' ')}`
}

function channelTable(listed: readonly ChannelJson[]): string {
  return table(
    ['CHANNEL', 'STATE', 'CALLS', 'COOLDOWNS', 'DECLINED (1 H)', 'REASON'],
    listed.map(({ name, paused_at, pause_reason, in_flight, cooldowns, declined }) => [
      name,
      paused_at === null ? 'active' : `paused ${shortTime(paused_at)}`,
      in_flight,
      cooldowns.map(({ model, until }) => `${model} until ${shortTime(until)}`).join(', ') || null,
      declined.slice(0, 3).map(declinedText).join(', ') || null,
      pause_reason,
    ]),
    'No channels yet: a worker registers its channels when it starts.',
  )
}
