/** How often the activity `produceImage` sends Temporal a heartbeat while it runs. */
export const heartbeatIntervalMs = 3_000

/**
 * After this time without a heartbeat, Temporal gives the activity to another worker. Long enough that three
 * heartbeats in a row may be lost.
 */
export const heartbeatTimeoutMs = 15_000
