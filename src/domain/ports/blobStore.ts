/**
 * Stores all image bytes. A key is a prefix and a name, as in `an1/image`. Both have letters and digits; a name may
 * also have `.`, `_` and `-` after its first character. Implemented in `src/blobs/`.
 */
export type BlobStore = {
  /**
   * Stores the bytes under a new key. Resolves only when they are durable (after fsync, or the object store's
   * confirmation), unless `flushLater` is set. The key has all of the bytes or does not exist. Rejects with
   * `BlobExistsError` when the key exists.
   */
  readonly put: (key: string, bytes: Uint8Array, options?: PutOptions) => Promise<void>
  /**
   * Reads a blob. `range` includes both ends. `bytes` is the length of `content`. The content fails when it ends
   * before that length. Returns `undefined` when nothing is stored under the key. Rejects when the store does not
   * answer with its own id, because a lost mount or bucket makes every blob seem absent.
   */
  readonly read: (key: string, range?: ByteRange) => Promise<FoundBlob | undefined>
  /**
   * Deletes every blob whose key begins with `prefix/`. Succeeds when there is none. Rejects when the store
   * does not answer with its own id.
   */
  readonly deletePrefix: (prefix: string) => Promise<void>
  /**
   * Returns the store's own id, which is created at the first use. Rejects when the store does not answer,
   * and when its id is gone. `/readyz` uses it as a cheap check.
   */
  readonly storeId: () => Promise<string>
}

export type PutOptions = {
  /**
   * True when another blob with the same prefix follows. This spares the disk a flush. Until the second blob is stored,
   * a power cut may lose this one. A power cut never loses this blob and keeps the second one: both are names in one
   * directory, and file systems keep the order of changes to a directory.
   */
  readonly flushLater?: boolean
}

/** Positions of the first and the last byte. Both belong to the range. */
export type ByteRange = { readonly first: number; readonly last: number }

export type FoundBlob = { readonly bytes: number; readonly content: AsyncIterable<Uint8Array> }

/** Thrown when the key exists. For an answer it means that an earlier write by the same attempt succeeded. */
export class BlobExistsError extends Error {
  override readonly name = 'BlobExistsError'
}
