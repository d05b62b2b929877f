import type { TaskRecord } from '../../domain/tasks/taskRecord.ts'

// What the admin API answers, as far as the console shows it. `/admin/openapi.json` has all of it.

export type RequestsLimit = {
  readonly limit: number
  readonly period: string
  readonly remaining?: number
}

export type Account = {
  readonly account_id: string
  readonly name: string
  readonly available: number
  readonly held: number
  readonly spent: number
  readonly models: readonly string[] | null
  readonly created_at: string
  readonly limits?: {
    readonly requests: RequestsLimit | null
    readonly live_tasks: { readonly limit: number; readonly used?: number } | null
  }
}

export type Key = {
  readonly key_id: string
  readonly account: string
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly budget: string | null
  readonly used: number | null
  readonly renews_at: string | null
  readonly secret?: string
}

export type Task = TaskRecord & { readonly account: string; readonly key_id?: string | null }

export type TaskEvent = { readonly at: string; readonly event: string } & Readonly<
  Record<string, string | number>
>

export type TaskStory = {
  readonly task_id: string
  readonly account: string
  readonly status: string
  readonly model: string
  readonly action: string
  readonly size?: string
  readonly quality?: string
  readonly route: string
  readonly key_id?: string
  readonly request_id?: string
  readonly idempotency_key?: string
  readonly credits: number
  readonly created_at: string
  readonly deadline_at: string
  readonly expires_at?: string | null
  readonly retry_of?: string
  readonly retried_as?: string
  readonly workflow_url?: string
  readonly timeline: readonly TaskEvent[]
}

export type TaskRequest = {
  readonly task_id: string
  readonly prompt: string
  readonly images: readonly {
    readonly n: number
    readonly mime_type: string
    readonly bytes: number
  }[]
}

export type DryRun = {
  readonly would_retry?: readonly string[]
  readonly would_cancel?: readonly string[]
  readonly would_redeliver?: readonly string[]
}

export type BulkResult = {
  readonly retried?: readonly { readonly task_id: string; readonly retry_of: string }[]
  readonly cancelled?: readonly string[]
  readonly redelivered?: readonly string[]
  readonly refused: readonly {
    readonly task_id?: string
    readonly delivery_id?: string
    readonly message: string
  }[]
}

export type Channel = {
  readonly name: string
  readonly paused_at: string | null
  readonly pause_reason: string | null
  readonly in_flight: number
  readonly cooldowns: readonly { readonly model: string; readonly until: string }[]
}

export type Webhook = {
  readonly webhook_id: string
  readonly account: string
  readonly url: string
  readonly status: string
  readonly key_id?: string | null
  readonly created_at: string
  readonly pending: number
  readonly oldest_pending_at: string | null
  readonly failing_since: string | null
}

export type Delivery = {
  readonly delivery_id: string
  readonly event: string
  readonly task_id: string | null
  readonly status: string
  readonly created_at: string
  readonly next_attempt_at?: string | null
  readonly attempts: readonly {
    readonly at: string
    readonly http_status?: number | null
    readonly error?: string | null
  }[]
}

export type LedgerEntry = {
  readonly entry_id: string | number
  readonly created_at: string
  readonly kind: string
  readonly credits: number
  readonly task_id: string | null
  readonly key_id: string | null
  readonly model: string | null
  readonly topup_id: string | null
}

export type TaskCounts = { readonly succeeded: number; readonly failed: number }

export type Usage = {
  readonly data: readonly ({ readonly tasks: TaskCounts; readonly credits: number } & {
    readonly account?: string | null
    readonly key_id?: string | null
    readonly model?: string | null
    readonly channel?: string | null
    readonly outcome?: string | null
    readonly day?: string
  })[]
  readonly total: { readonly tasks: TaskCounts; readonly credits: number }
  readonly difference: number
}

export type Overview = {
  readonly at: string
  readonly tasks: { readonly queued: number; readonly processing: number }
  readonly oldest_waiting: {
    readonly task_id: string
    readonly account: string
    readonly created_at: string
  } | null
  readonly calls: readonly {
    readonly channel: string
    readonly outcome: string
    readonly count: number
  }[]
  readonly days: readonly (TaskCounts & { readonly day: string; readonly credits: number })[]
  readonly paused: readonly {
    readonly channel: string
    readonly paused_at: string
    readonly reason: string | null
  }[]
  readonly cooldowns: readonly {
    readonly channel: string
    readonly model: string
    readonly until: string
  }[]
  readonly webhooks_in_trouble: readonly {
    readonly webhook_id: string
    readonly account: string
    readonly url: string
    readonly failing_since: string
    readonly pending: number
  }[]
}

export type Queue = {
  readonly accounts: readonly {
    readonly account: string
    readonly waiting: number
    readonly calling: number
    readonly oldest_created_at: string | null
  }[]
  readonly channels: readonly {
    readonly channel: string
    readonly in_flight: number
    readonly paused: boolean
    readonly cooldown_until: string | null
  }[]
  readonly data: readonly {
    readonly task_id: string
    readonly account: string
    readonly model: string
    readonly status: string
    readonly created_at: string
    readonly attempts: number
    readonly waiting_for: string
  }[]
}

export type Found = {
  readonly kind: string
  readonly id: string
  readonly account: string | null
  readonly task_id?: string | null
  readonly matched: string
}

export type AuditRow = {
  readonly audit_id: string | number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly params: object
  readonly outcome: string
}
