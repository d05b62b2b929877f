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
 * The form of every id that clients and operators name, by the name of its parameter. Any other text names nothing, so
 * it is wrong usage: 400 over HTTP, exit code 2 of the CLI. An id of the right form that nothing has is not found.
 */
export const idForms = {
  account_id: { pattern: /^acct_[0-9A-Za-z]{16}$/, words: 'acct_ and 16 letters or digits' },
  key_id: { pattern: /^key_[0-9A-Za-z]{16}$/, words: 'key_ and 16 letters or digits' },
  task_id: { pattern: /^task_[0-9A-Za-z]{32}$/, words: 'task_ and 32 letters or digits' },
  webhook_id: { pattern: /^wh_[0-9A-Za-z]{24}$/, words: 'wh_ and 24 letters or digits' },
  // PostgreSQL makes delivery ids, in the statement that ends the task.
  delivery_id: {
    pattern: /^whd_[0-9a-f]{32}$/,
    words: 'whd_ and 32 digits or letters from a to f',
  },
} as const
export type IdName = keyof typeof idForms

/** Returns what is wrong with a text that should be an id, as a sentence, or `undefined`. Checks its form alone. */
export function wrongId(name: IdName, text: string): string | undefined {
  const { pattern, words } = idForms[name]
  return pattern.test(text) ? undefined : `The ${name.replace('_', ' ')} must be ${words}.`
}

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
