import { usualDurationMs } from '../models/modelTable.ts'
import { slotsOf } from '../upstream/channel.ts'
import type { ImageRequest } from './imageRequest.ts'
import type { TaskTermsDeps } from './taskTerms.ts'

/**
 * Returns how long a task that is submitted now takes, in seconds: the usual duration of its model, and the turns of the
 * tasks of its account that wait for a place of the family (`waiting`). Tasks of other accounts do not count, because
 * accounts take turns.
 */
export function expectedSeconds(
  { models, channels }: Pick<TaskTermsDeps, 'models' | 'channels'>,
  { model, family }: Pick<ImageRequest, 'model' | 'family'>,
  waiting: number,
): number {
  const places = Math.max(1, slotsOf(channels)[family])
  return Math.ceil((usualDurationMs(models, model) * (1 + waiting / places)) / 1000)
}
