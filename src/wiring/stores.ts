import type { Pool } from 'pg'
import type { ChannelAdmin } from '../domain/ports/channelAdmin.ts'
import { listChannels, pauseChannel, resumeChannel } from '../store/channels/channelAdmin.ts'

/** For the operator's commands that list, pause and resume channels. */
export function createChannelAdmin(pool: Pool): ChannelAdmin {
  return {
    listChannels: () => listChannels(pool),
    pauseChannel: (name, reason) => pauseChannel(pool, name, reason),
    resumeChannel: (name) => resumeChannel(pool, name),
  }
}
