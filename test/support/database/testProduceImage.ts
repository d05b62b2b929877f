import type { ProduceImageDeps } from '../../../src/tasks/produceImage.ts'
import { createProduceImage } from '../../../src/tasks/produceImage.ts'
import { createMemoryBlobs } from '../blobs/memoryBlobs.ts'
import { alwaysBeating } from './testAttempts.ts'

/** Creates `produceImage` in a process that is present, by default with an empty blob store in memory. */
export function createTestProduceImage(
  given: Pick<ProduceImageDeps, 'attempts' | 'callUpstream'> & Partial<ProduceImageDeps>,
): ReturnType<typeof createProduceImage> {
  return createProduceImage({ beats: alwaysBeating, blobs: createMemoryBlobs(), ...given })
}
