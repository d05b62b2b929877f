import { randomText } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { BlobExistsError } from '../domain/ports/blobStore.ts'
import { withTimeout } from '../domain/withTimeout.ts'

const probePauseMs = 60_000
/** How long a look waits for the probe. What it finds later, the next look says. */
const lookMsMax = 1_000
/** Large enough that a full disk refuses it. */
const probe = Buffer.alloc(64 * 1024)

/**
 * Watches the puts of a process. `takesWrites` says whether the store takes any, without a write for each look: it
 * trusts the puts of the process. Only at the start and after a put that failed it stores a blob of its own and deletes it,
 * at most once a minute, because one failure may say nothing about the next put. `onFailure` is told of each failed put.
 */
export function watchPuts(
  store: BlobStore,
  onFailure: () => void,
): { readonly blobs: BlobStore; readonly takesWrites: () => Promise<boolean> } {
  let isWritable = false
  let isDoubted = true
  let probedAtMs = -Infinity
  let probing: Promise<void> = Promise.resolve()

  function seen(writable: boolean): void {
    isWritable = writable
    isDoubted = !writable
  }

  async function tryPut(): Promise<void> {
    const prefix = randomText(32)
    const put = store.put([`${prefix}/probe`, probe])
    await put.then(
      () => seen(true),
      () => seen(false),
    )
    await store.deletePrefix(prefix)
  }

  return {
    blobs: {
      ...store,
      put: async (...blobs) => {
        try {
          await store.put(...blobs)
          seen(true)
        } catch (error) {
          if (!(error instanceof BlobExistsError)) {
            isDoubted = true
            onFailure()
          }
          throw error
        }
      },
    },
    takesWrites: async () => {
      const nowMs = performance.now()
      if (isDoubted && nowMs - probedAtMs >= probePauseMs) {
        probedAtMs = nowMs
        probing = tryPut().catch(() => undefined)
      }
      if (isDoubted) await withTimeout(lookMsMax, () => probing).catch(() => undefined)
      return isWritable
    },
  }
}
