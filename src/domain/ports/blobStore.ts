/**
 * Where all image bytes are kept. A key has the form `[0-9A-Za-z]+(/[0-9A-Za-z._-]+)*`. Implemented in
 * `src/blobs/`.
 */
export type BlobStore = {
  /**
   * Stores the content durably (fsync, or the object store's confirmation) under a new key, and returns
   * its size and SHA-256. Reads `content` once. When it fails, nothing is stored under the key. Rejects
   * with `BlobExistsError` when the key exists, and with the error that `content` threw.
   */
  readonly put: (
    key: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly signal?: AbortSignal },
  ) => Promise<{ readonly bytes: number; readonly sha256: string }>
  /**
   * `range` is inclusive at both ends. `undefined`: nothing is stored under the key. Rejects when the store
   * does not answer with its own id, because a lost mount or bucket makes every blob seem absent.
   */
  readonly read: (
    key: string,
    range?: { readonly first: number; readonly last: number },
  ) => Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>
  /**
   * Deletes every blob whose key begins with `prefix/`. No error when there is none, unless the store does
   * not answer with its own id.
   */
  readonly deletePrefix: (prefix: string) => Promise<void>
  /**
   * The store's own id, which is created at the first use. A cheap test for `/readyz` whether the store
   * answers: rejects when it does not, and when the id that it had is gone.
   */
  readonly storeId: () => Promise<string>
}

/** The key exists. For an answer: the same attempt's answer was stored before. */
export class BlobExistsError extends Error {
  override readonly name = 'BlobExistsError'
}
