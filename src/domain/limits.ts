/** Every number of the spec's Limits table, and the bounds we add where it is silent. Units end the names. */

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** Spec, Limits: bytes of the header as sent, not characters. */
export const idempotencyKeyBytesMax = 255

/** Spec, Limits: source images per edit task. */
export const inputImagesMin = 1
export const inputImagesMax = 16

/** Spec, Limits: one decoded source image, and all of them together. */
export const inputImageBytesMax = 20 * mebibyte
export const inputImagesBytesMax = 64 * mebibyte

/**
 * Everything of a request body that is not image data is held in memory, so it is bounded apart from
 * the ingress limit. The spec promises no longest prompt; 3 MB ones must work.
 */
export const requestTextBytesMax = 16 * mebibyte

/** Nesting of a JSON body. The deepest document of the contract (v1beta) needs nine levels. */
export const jsonDepthMax = 32

/** Keys, array items and values of one JSON body: the largest legal request has some hundreds. */
export const jsonTokensMax = 100_000

/** A larger upstream answer is a broken one: a 4K PNG is about 30 MiB, plus a third for base64. */
export const upstreamAnswerBytesMax = 96 * mebibyte

/** One image of an upstream answer, decoded. */
export const outputImageBytesMax = 64 * mebibyte

/** What an upstream answer says besides its image bytes: texts, thought signatures, usage. */
export const upstreamAnswerTextBytesMax = 4 * mebibyte

/** Output pixels that are decoded (to transcode to PNG): twice the 4K preset. */
export const outputImagePixelsMax = 2 * 3840 * 2160

/** Refusals (no work done) that one task may wait out: design 1.7. */
export const refusalsMax = 100

/** A vendor's Retry-After is believed up to here: design 1.8. */
export const cooldownMsMax = 15 * 60_000

/** Longest wait for a synchronous call on somebody else's cooldown; beyond it the caller gets the 429. */
export const syncCooldownWaitMsMax = 5_000

/** Added to deadline + channel timeout before a task is failed whatever happens: design 1.10. */
export const hardEndGraceMs = 60_000

/**
 * Past its hard end a task waits so long for a blob store that cannot say whether its answer is stored; then
 * it fails and its hold is released without: design 1.12.
 */
export const unreadableStoreMsMax = 5 * 60_000

/**
 * While a call is under way its worker says so in PostgreSQL this often, and waits no longer than that for
 * its word to arrive. Not heard of for `presentMs`, it is doubted: below Temporal's heartbeat timeout, so
 * that who takes over finds it so at once. Silent for `doubtMs` more, in which every worker that lives
 * would have spoken, the call counts as lost.
 */
export const presenceEveryMs = 2_500
export const presentMs = 10_000
export const doubtMs = 6_000

/** A staged upload that no task took over is swept after this: design, lifetimes. */
export const uploadGraceMs = 24 * 3_600_000

/** Spec: polling interval; the Retry-After of an accepted task. */
export const pollIntervalSeconds = 3
