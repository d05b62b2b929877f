/** All image bytes go through this port (design section 1). Keys: `[0-9A-Za-z]+(/[0-9A-Za-z._-]+)*`. */
export type BlobStore = {
  /**
   * Stores the content durably (fsync, or the object store's answer) under a key that must not exist:
   * create-only. Reads `content` once; on failure nothing remains under the key.
   * Rejects with `BlobExistsError` when the key exists, and with whatever `content` threw.
   */
  readonly put: (
    key: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly signal?: AbortSignal },
  ) => Promise<{ readonly bytes: number; readonly sha256: string }>
  /** `range` is inclusive at both ends. Nothing under the key: `undefined`. */
  readonly read: (
    key: string,
    range?: { readonly first: number; readonly last: number },
  ) => Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>
  /** Removes every blob whose key begins with `prefix/`. Absent ones are no error. */
  readonly deletePrefix: (prefix: string) => Promise<void>
  /** Cheap write-free check for `/readyz`, and the store's id (written at first use). Throws when it cannot. */
  readonly storeId: () => Promise<string>
}

/** The key was taken: for an answer this means another attempt of the same call stored it first. */
export class BlobExistsError extends Error {
  override readonly name = 'BlobExistsError'
}
