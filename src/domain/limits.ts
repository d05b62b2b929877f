/**
 * Limits of the API contract, and our own limits where the contract has none. "Contract" marks the first
 * kind.
 */

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** Contract. Limit for the Idempotency-Key header. Counts the bytes as sent, not the characters. */
export const idempotencyKeyBytesMax = 255

/** Contract. Number of source images of one edit. */
export const inputImagesMin = 1
export const inputImagesMax = 16

/** Contract. Limits for one decoded source image and for all source images of a request together. */
export const inputImageBytesMax = 20 * mebibyte
export const inputImagesBytesMax = 64 * mebibyte

/**
 * All texts of a request, which are kept in memory. Counts their bytes with the escapes of JSON, as they are
 * stored and sent upstream. The contract has no longest prompt; a prompt of 3 MB must work.
 */
export const requestTextBytesMax = 16 * mebibyte

/** Limit for the nesting of a JSON body. The deepest valid document (v1beta) has nine levels. */
export const jsonDepthMax = 32

/**
 * Keys, array items and values of one JSON body. A task with 16 images has about a hundred, a v1beta
 * conversation eight for each turn with one text. Validation handles all of them in one step, which must not
 * block the process: 100,000 took more than a second.
 */
export const jsonTokensMax = 2_000

/** The same for an upstream answer. It is paid for, so the limit is far beyond what vendors send. */
export const upstreamAnswerTokensMax = 100_000

/**
 * Limit for an upstream answer. A 4K PNG has about 30 MiB, and base64 adds a third. A larger answer is
 * broken.
 */
export const upstreamAnswerBytesMax = 96 * mebibyte

/** Limit for one decoded image of an upstream answer. */
export const outputImageBytesMax = 64 * mebibyte

/** Limit for an upstream answer without its image bytes: texts, thought signatures and usage. */
export const upstreamAnswerTextBytesMax = 4 * mebibyte

/** Limit for the pixels of an output image that is converted to PNG. Twice the pixels of the 4K size. */
export const outputImagePixelsMax = 2 * 3840 * 2160

/** Limit for the refused calls of one task. Then the task fails. */
export const refusalsMax = 100

/** Limit for the Retry-After of an upstream. A longer one counts as this long. */
export const cooldownMsMax = 15 * 60_000

/**
 * Limit for one wait of a synchronous task whose length is known beforehand, such as that for the end of a cooldown.
 * If it would be longer, the task ends at once. A task in line for a place asks again every second or sooner, so
 * this does not limit how long it stands in line.
 */
export const syncCooldownWaitMsMax = 5_000

/**
 * Time for storing and settling the answer of the last possible call. Then the task has reached its hard end
 * and fails.
 */
export const hardEndGraceMs = 60_000

/**
 * Limit for the wait past a task's hard end while the blob store cannot say whether an answer is stored. Then
 * the task fails and its hold is released.
 */
export const unreadableStoreMsMax = 5 * 60_000

/**
 * Times for the presence of processes that make calls. Such a process beats every `beatEveryMs`. Another
 * process doubts it when it has been silent for `silentMs`, and counts it as lost when it stays silent for
 * `doubtMs` more.
 *
 * After an outage of PostgreSQL all processes are silent, and a process that lives must beat again before
 * another one counts it as lost. So `doubtMs` is longer than the slowest way to the next beat: the attempt to
 * connect that has just begun fails (`beatTimeoutMs`), the process pauses (`beatEveryMs`), and the next
 * connection and its beat take their time (`beatTimeoutMs`). A second stays in reserve.
 */
export const beatEveryMs = 1_000
export const silentMs = 10_000
export const doubtMs = 6_000
/** Limit for connecting, and for one statement, on the connection that beats. */
export const beatTimeoutMs = 2_000

/** How long to wait before asking again for a task whose call is under way in a present process. */
export const callCheckMs = 2_500

/** Time after which the sweep deletes an upload that no task has taken over. */
export const uploadGraceMs = 24 * 3_600_000

/**
 * Limit for the requests and inputs of failed tasks that one account may keep for a retry. A failed task costs
 * nothing, so without a limit they would be free storage. Beyond the limit the oldest are deleted. No
 * request is refused for it, because an outage of an upstream can fail many tasks of an honest client.
 */
export const keptInputBytesMax = 1024 * mebibyte
