/**
 * Stores all image bytes. A key is a prefix and a name, as in `an1/image`. Both have letters and digits; a name may
 * also have `.`, `_` and `-` after its first character. Implemented in `src/blobs/`.
 */
export type BlobStore = {
  /**
   * Stores blobs under new keys of one prefix. Resolves only when all are durable (after fsync, or the object store's
   * confirmation). A key has all of its bytes or does not exist. No key exists, also after a crash, unless all keys
   * before it do. A key that exists stays as it is: then the others are stored, and the promise rejects with
   * `BlobExistsError`. Rejects also after `putMsMax` (`src/blobs/createBlobStore.ts`). After any other rejection than
   * `BlobExistsError` a write may still be under way, so nobody may change the bytes or free their memory.
   */
  readonly put: (...blobs: NewBlob[]) => Promise<void>
  /**
   * Reads a blob. `range` includes both ends. `bytes` is the length of `content`. The content fails when it ends
   * before that length. Returns `undefined` when nothing is stored under the key. Rejects when the store does not
   * answer with its own id, because a lost mount or bucket makes every blob seem absent.
   */
  readonly read: (key: string, range?: ByteRange) => Promise<FoundBlob | undefined>
  /** Returns the length of a blob, or `undefined` when nothing is stored under the key. Rejects as `read` does. */
  readonly bytesOf: (key: string) => Promise<number | undefined>
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
  /**
   * Returns an address at which anybody can read the blob for a while, without the API. Absent in a store that has no
   * addresses, as one of files.
   */
  readonly presign?: (key: string, options: PresignOptions) => Promise<string>
}

export type PresignOptions = {
  readonly livesSeconds: number
  /** Headers with which the store answers. */
  readonly contentType: string
  readonly contentDisposition: string
  readonly cacheControl: string
}

export type NewBlob = readonly [key: string, bytes: Uint8Array]

/** Positions of the first and the last byte. Both belong to the range. */
export type ByteRange = { readonly first: number; readonly last: number }

export type FoundBlob = {
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array>
  /** The path of the file whose whole content it is, in a store of files. Who reads that does not read `content`. */
  readonly path?: string
  /** Lets go of what `content` has not given. Who has a blob calls this, or reads all of the content. */
  readonly close: () => void
}

/** Thrown when the key exists. For an answer it means that an earlier write by the same attempt succeeded. */
export class BlobExistsError extends Error {
  override readonly name = 'BlobExistsError'
}
