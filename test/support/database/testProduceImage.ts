import { createLargeRequests } from '../../../src/tasks/produce/largeRequests.ts'
import { createPlaces } from '../../../src/tasks/produce/places.ts'
import { createVendorCodes } from '../../../src/tasks/produce/vendorCodes.ts'
import type { ProduceImageDeps } from '../../../src/tasks/produce/produceInput.ts'
import { createProduceImage } from '../../../src/tasks/produce/produceImage.ts'
import { quiet } from '../quiet.ts'
import { createMemoryBlobs } from '../blobs/memoryBlobs.ts'
import { testProcessId } from './testAttempts.ts'

/** Creates `produceImage` in a process that is present, without jitter, by default with a blob store in memory. */
export function createTestProduceImage(
  given: Pick<ProduceImageDeps, 'attempts' | 'callUpstream'> & Partial<ProduceImageDeps>,
): ReturnType<typeof createProduceImage> {
  return createProduceImage({
    ...quiet,
    processId: testProcessId,
    channels: [],
    announceTask: () => {},
    beats: { mayCall: () => true },
    blobs: createMemoryBlobs(),
    places: createPlaces(() => 0),
    largeRequests: createLargeRequests(),
    vendorCodes: createVendorCodes(quiet),
    callsMax: 3,
    random: () => 0,
    ...given,
  })
}
