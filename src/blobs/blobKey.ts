const keyPattern = /^[0-9A-Za-z]+(?:\/[0-9A-Za-z._-]+)*$/
const prefixPattern = /^[0-9A-Za-z]+$/
const keyCharactersMax = 256

/**
 * Guards every path and object name built from a blob key (design section 1, port `BlobStore`). The
 * pattern of the port admits `.` and `..` as later segments; those would climb out of a directory.
 * Throws: keys are made by us from random ids, so a bad one is a bug.
 */
export function assertBlobKey(key: string): void {
  const climbs = key.split('/').some((segment) => /^\.+$/.test(segment))
  if (key.length > keyCharactersMax || !keyPattern.test(key) || climbs) {
    throw new Error('Bug: malformed blob key')
  }
}

/** A prefix is the first segment of keys: one upload's directory. */
export function assertBlobPrefix(prefix: string): void {
  if (prefix.length > keyCharactersMax || !prefixPattern.test(prefix)) {
    throw new Error('Bug: malformed blob prefix')
  }
}
