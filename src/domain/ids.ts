/** The digits of base 62. */
export const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** One byte of 32 is skipped. With so many more bytes, a second call for random bytes is seldom needed. */
const spareBytes = 8

/**
 * Returns `count` random letters or digits. Bytes from 248 on are skipped, so that each character is equally
 * likely.
 */
export function randomText(count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of crypto.getRandomValues(new Uint8Array(count + spareBytes))) {
      if (byte < 248 && text.length < count) text += base62Digits.charAt(byte % 62)
    }
  }
  return text
}

/**
 * Returns a random task id. The id is not derived from the idempotency key, because a key can be used again
 * after its task is purged, and the new task needs a new id.
 */
export function newTaskId(): string {
  return `task_${randomText(32)}`
}

/**
 * The form of a task id. Any other text in a path is a 400. A text of this form is a 404 if the caller has no
 * task with this id.
 */
export const taskIdPattern = /^task_[0-9A-Za-z]{32}$/

/**
 * Returns the prefix of the blob keys of one upload: `in…` for inputs, `an…` for an answer. Two tasks never
 * share an upload.
 */
export function newUploadId(kind: 'input' | 'answer'): string {
  return `${kind === 'input' ? 'in' : 'an'}${randomText(30)}`
}

/** Returns a random id for one start of a process that makes upstream calls. */
export function newProcessId(): string {
  return `pr${randomText(20)}`
}

/** Returns the workflow id of a task in Temporal. */
export function workflowIdOf(taskId: string): string {
  return `image/${taskId}`
}
