/**
 * The state of the installation in PostgreSQL. `src/store/sampleState.ts` reads it when Prometheus asks for
 * the metrics.
 */
export type StateSample = {
  readonly tasks: readonly {
    readonly status: string
    readonly count: number
    readonly oldestSeconds: number
  }[]
  readonly creditsHeld: number
  readonly holdsOpen: number
  readonly blobBytes: number
  readonly channels: readonly {
    readonly channel: string
    readonly paused: boolean
    readonly open: number
  }[]
  readonly cooldowns: readonly {
    readonly channel: string
    readonly model: string
    readonly seconds: number
  }[]
  readonly webhooks: {
    readonly failing: number
    readonly pending: number
    readonly firstLateSeconds: number
    readonly oldestSeconds: number
  }
}
