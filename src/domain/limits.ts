/** The limits of the API contract, and limits of our own where the contract has none. */

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** Contract. Counts the bytes of the header as sent, not its characters. */
export const idempotencyKeyBytesMax = 255

/** Contract. Source images of one edit. */
export const inputImagesMin = 1
export const inputImagesMax = 16

/** Contract. One decoded source image, and all of them together. */
export const inputImageBytesMax = 20 * mebibyte
export const inputImagesBytesMax = 64 * mebibyte

/**
 * All of a request body except its image data, which is kept in memory. The contract has no longest prompt;
 * a prompt of 3 MB must work.
 */
export const requestTextBytesMax = 16 * mebibyte

/** Nesting of a JSON body. The deepest valid document (v1beta) has nine levels. */
export const jsonDepthMax = 32

/** Keys, array items and values of one JSON body. The largest valid request has some hundreds. */
export const jsonTokensMax = 100_000

/** A 4K PNG has about 30 MiB, and base64 adds a third. A larger upstream answer is broken. */
export const upstreamAnswerBytesMax = 96 * mebibyte

/** One decoded image of an upstream answer. */
export const outputImageBytesMax = 64 * mebibyte

/** An upstream answer without its image bytes: texts, thought signatures, usage. */
export const upstreamAnswerTextBytesMax = 4 * mebibyte

/** Pixels of an output image that is converted to PNG: twice those of the 4K size. */
export const outputImagePixelsMax = 2 * 3840 * 2160

/** Refusals (no work done) after which a task fails. */
export const refusalsMax = 100

/** The longest Retry-After of an upstream that is followed. */
export const cooldownMsMax = 15 * 60_000

/** The longest wait of a synchronous call for a channel. Beyond it the client gets a 429. */
export const syncCooldownWaitMsMax = 5_000

/** Time after the last possible call to store and settle its answer, before the task fails in any case. */
export const hardEndGraceMs = 60_000

/**
 * How long past its hard end a task waits for a blob store that cannot say whether an answer is stored.
 * Then the task fails and its hold is released.
 */
export const unreadableStoreMsMax = 5 * 60_000

/**
 * A worker reports its calls under way this often. A call without a report for `presentMs` is doubted: that
 * is below Temporal's heartbeat timeout, so the worker that takes over finds the call doubtful at once. A
 * doubted call without a report for `doubtMs` more, in which every live worker would have reported, counts
 * as lost.
 */
export const presenceEveryMs = 2_500
export const presentMs = 10_000
export const doubtMs = 6_000

/** An upload that no task took is swept after this time. */
export const uploadGraceMs = 24 * 3_600_000

/**
 * Inputs of failed tasks that one account may keep for a retry. A failed task costs nothing, so without a
 * limit its inputs would be free storage. Beyond it the oldest inputs go; no request is refused for it,
 * because an outage of an upstream can fail many tasks of an honest client.
 */
export const keptInputBytesMax = 1024 * mebibyte

/** Contract. The Retry-After of an accepted task. */
export const pollIntervalSeconds = 3
