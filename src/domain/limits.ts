/**
 * Limits and times. A comment that begins with "Contract" marks a limit that the API promises to its clients. All
 * others are our own choice.
 */

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** Contract. Limit for the Idempotency-Key header, in bytes as they are sent. */
export const idempotencyKeyBytesMax = 255

/** Contract. Number of source images of one edit. */
export const inputImagesMin = 1
export const inputImagesMax = 16

/** Contract. Limits for one decoded source image and for all source images of a request together. */
export const inputImageBytesMax = 20 * mebibyte
export const inputImagesBytesMax = 64 * mebibyte

/**
 * Contract. Limit for everything in a JSON body besides the data of its images, as sent: keys, texts, thought
 * signatures and white space.
 */
export const requestBesidesImagesBytesMax = 8 * mebibyte

/**
 * Contract. Limit for all texts of a request together, in bytes of UTF-8 without the escapes of JSON. A prompt of 3 MB
 * must work.
 */
export const requestTextBytesMax = 4 * mebibyte

/** Contract. Limit for the nesting of a JSON body. The deepest valid document (v1beta) has nine levels. */
export const jsonDepthMax = 32

/**
 * Contract. Limit for the values of a JSON body: objects, arrays, texts, numbers and literals. A task with 16 images
 * has about fifty of them. A v1beta conversation has five for each turn with one text. Validation checks all of them in
 * one step, and the process does nothing else during this step. For 100,000 of them it took more than a second.
 */
export const jsonValuesMax = 2_000

/**
 * The same limit for an upstream answer. Vendors send far fewer. The limit is this large because the answer is paid
 * for and should not be refused.
 */
export const upstreamAnswerValuesMax = 100_000

/**
 * Limit for an upstream answer. A 4K PNG has about 30 MiB, and base64 adds a third. So an answer beyond the limit
 * must be broken.
 */
export const upstreamAnswerBytesMax = 96 * mebibyte

/** Limit for one decoded image of an upstream answer. */
export const outputImageBytesMax = 64 * mebibyte

/**
 * Limit for an upstream answer besides its images, as sent: texts, thought signatures, usage and white space. Large,
 * because an image that is paid for should not be lost for what stands around it.
 */
export const upstreamAnswerTextBytesMax = 32 * mebibyte

/** Limit for what is stored of such an answer besides its image, as JSON. The longest texts are left out. */
export const storedResponseBytesMax = 4 * mebibyte

/** Limit for the pixels of an output image that is converted: twice those of the largest tier, whatever its shape. */
export const outputImagePixelsMax = 2 * 4096 * 4096

/** Limit for the refused calls of one task. A task with this many of them fails. */
export const refusalsMax = 100

/** Limit for the failed calls of one task that a vendor does not charge. A task with this many of them fails. */
export const freeErrorsMax = 5

/** Limit for the Retry-After of an upstream. A longer one counts as this long. */
export const cooldownMsMax = 15 * 60_000

/**
 * Limit for the rest of a cooldown whose end a synchronous task waits for, in the line of the channel. If all its channels
 * have longer ones, it ends at once.
 */
export const syncCooldownWaitMsMax = 5_000

/**
 * How much time before a task's hard end is kept for storing and settling the answer of its last call, even if that
 * call begins right before the deadline and takes as long as a call may.
 */
export const hardEndGraceMs = 60_000

/**
 * At its hard end, a task fails unless an answer is stored for it. While the blob store cannot say whether there is
 * one, the task stays live for at most this much longer. Then it fails, and its hold is released.
 */
export const unreadableStoreMsMax = 5 * 60_000

/**
 * A process that makes calls shows that it lives: it sends a beat every second. It opens a call only while its last beat
 * is younger than `beatFreshMs`. Others count its calls as lost when it has been silent for `silentMs`. The time between
 * the two is what a call has from the question for it to its first byte.
 */
export const beatEveryMs = 1_000
export const beatFreshMs = 8_000
export const silentMs = 15_000
/** Limit for the time from the question for a call to its first byte. */
export const callWithinMs = silentMs - beatFreshMs
/**
 * Only a process that was itself steady may say that another one is lost: for the last `silentMs` no two of its beats were
 * further apart than this. After an outage of PostgreSQL nobody was steady, so everybody gets the time to beat again.
 */
export const beatGapMsMax = 3_000
/** Limit for connecting, and for one statement, on the connection that beats. */
export const beatTimeoutMs = 2_000

/**
 * How long a worker waits before it decides again about a task that it may not call for now, because a call of
 * the task is under way in a present process, because the worker's own process is not present, or because other large
 * requests come first.
 */
export const callCheckMs = 2_500

/** The sweep deletes an upload that is older than this and that no task has taken over. */
export const uploadGraceMs = 24 * 3_600_000

/**
 * Limit for the requests and inputs of an account's failed tasks, which are kept for a retry. A failed task costs
 * nothing, so without a limit the account would have free storage. Beyond the limit the oldest are deleted. New
 * requests are accepted nevertheless, because an outage of an upstream can fail many tasks of an honest client.
 */
export const keptInputBytesMax = 1024 * mebibyte
