/** `randomBytes` of node:crypto. Passed in, so that this folder stays pure. */
export type RandomBytes = (count: number) => Uint8Array

/** The digits of base 62. */
export const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `count` random letters or digits. Bytes from 248 are skipped, so that each character is equally likely. */
export function randomText(randomBytes: RandomBytes, count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      if (byte < 248 && text.length < count) text += base62Digits.charAt(byte % 62)
    }
  }
  return text
}

/**
 * A random id. An id derived from the idempotency key would collide with an earlier task when the key is
 * used again after that task's life.
 */
export function newTaskId(randomBytes: RandomBytes): string {
  return `task_${randomText(randomBytes, 32)}`
}

/** Any other text in a path is a 400; an id of this form that names no task of the caller is a 404. */
export const taskIdPattern = /^task_[0-9A-Za-z]{32}$/

/** The prefix of the blob keys of one upload, never shared between tasks: `in…` inputs, `an…` answers. */
export function newUploadId(randomBytes: RandomBytes, kind: 'input' | 'answer'): string {
  return `${kind === 'input' ? 'in' : 'an'}${randomText(randomBytes, 30)}`
}

/** The workflow id of a task in Temporal. */
export function workflowIdOf(taskId: string): string {
  return `image/${taskId}`
}

/** The task of a workflow id. */
export function taskIdOf(workflowId: string): string {
  return workflowId.slice(workflowIdOf('').length)
}
