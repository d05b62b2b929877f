/**
 * Stores all image bytes. A key has the form `[0-9A-Za-z]+(/[0-9A-Za-z._-]+)*`. Implemented in `src/blobs/`.
 */
export type BlobStore = {
  /**
   * Stores the content under a new key and returns its size and SHA-256. Resolves only when the content is
   * durable (after fsync, or the object store's confirmation), unless `flushLater` is set. Reads `content` once.
   * After a failure nothing is stored under the key. Rejects with `BlobExistsError` when the key exists, and with
   * the error that `content` threw.
   */
  readonly put: (
    key: string,
    content: AsyncIterable<Uint8Array>,
    options: PutOptions,
  ) => Promise<{ readonly bytes: number; readonly sha256: string }>
  /**
   * Reads a blob. `range` includes both ends. Returns `undefined` when nothing is stored under the key.
   * Rejects when the store does not answer with its own id, because a lost mount or bucket makes every blob
   * seem absent.
   */
  readonly read: (
    key: string,
    range?: { readonly first: number; readonly last: number },
  ) => Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>
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
  readonly signal?: AbortSignal
  /** The SHA-256 of the content in hexadecimal, if the caller has computed it. It is then not computed again. */
  readonly sha256?: string
  /**
   * True when another blob with the same prefix follows. This spares the disk two flushes. Until the second blob is
   * stored, a power cut may lose this blob. A power cut never loses this blob and keeps the second one: both are
   * names in one directory, and file systems keep the order of changes to a directory.
   */
  readonly flushLater?: boolean
  /** The blob appears only after this promise has resolved. When the promise rejects, nothing is stored. */
  readonly after?: Promise<unknown>
}

/** Thrown when the key exists. For an answer it means that an earlier write by the same attempt succeeded. */
export class BlobExistsError extends Error {
  override readonly name = 'BlobExistsError'
}
