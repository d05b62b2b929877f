/** Source of randomness, passed in: `randomBytes` of node:crypto in every process. */
export type RandomBytes = (count: number) => Uint8Array

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `count` characters of `[0-9A-Za-z]`, each with equal chance: bytes of 248 and above are drawn again. */
export function randomText(randomBytes: RandomBytes, count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      if (byte < 248 && text.length < count) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

/** Design 1.3: a random id; one derived from the key would collide with its own past. */
export function newTaskId(randomBytes: RandomBytes): string {
  return `task_${randomText(randomBytes, 32)}`
}

/** Design section 4, Small print: any other shape is 400, a well-shaped stranger 404. */
export const taskIdPattern = /^task_[0-9A-Za-z]{32}$/

/** Directory of one upload in the blob store, never shared between tasks. `in…` inputs, `an…` answers. */
export function newUploadId(randomBytes: RandomBytes, kind: 'input' | 'answer'): string {
  return `${kind === 'input' ? 'in' : 'an'}${randomText(randomBytes, 30)}`
}

/** Temporal's workflow id of a task. */
export function workflowIdOf(taskId: string): string {
  return `image/${taskId}`
}

export function taskIdOf(workflowId: string): string {
  return workflowId.slice(workflowIdOf('').length)
}
