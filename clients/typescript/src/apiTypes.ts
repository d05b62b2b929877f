// Made by `node clients/typescript/makeTypes.ts` from the OpenAPI document: do not edit.

export type TaskRequest = {
  readonly model: "familya-2.5-flash-image" | "familya-3.1-flash-lite-image" | "familya-3.1-flash-image" | "familya-3-pro-image" | "familyb-image-2-web" | "familyb-image-2-vip" | (string & {})
  readonly action: "generate" | "edit"
  readonly prompt: string
  /** Required when `action` is `edit`, and absent otherwise. */
  readonly input_images?: readonly (InputImage)[]
  /** As far as the model supports it. Family A: a tier. Family B: a size in pixels. */
  readonly size?: "1K" | "2K" | "4K" | "1024x1024" | "2048x2048" | "3840x2160" | (string & {})
  /** Family A only, as far as the model supports it. */
  readonly aspect_ratio?: "1:1" | "2:3" | "3:2" | "3:4" | "4:3" | "4:5" | "5:4" | "9:16" | "16:9" | "21:9" | "1:4" | "1:8" | "4:1" | "8:1" | (string & {})
  /** Sent to the upstream for family B. No effect for family A. */
  readonly quality?: "low" | "medium" | "high" | "auto" | (string & {})
  /** One request makes one image. */
  readonly n?: 1
}

export type InputImage = {
  /** The type of the decoded bytes. */
  readonly mime_type: "image/png" | "image/jpeg" | "image/webp"
  /** Base64 without a data-URL prefix. At most 20 MiB decoded, 64 MiB together. */
  readonly data: string
}

/** The body of a submit. `data` of its images may be left out. */
export type EstimateRequest = {
  readonly model: "familya-2.5-flash-image" | "familya-3.1-flash-lite-image" | "familya-3.1-flash-image" | "familya-3-pro-image" | "familyb-image-2-web" | "familyb-image-2-vip" | (string & {})
  readonly action: "generate" | "edit"
  readonly prompt: string
  readonly input_images?: readonly (EstimatedImage)[]
  /** As far as the model supports it. Family A: a tier. Family B: a size in pixels. */
  readonly size?: "1K" | "2K" | "4K" | "1024x1024" | "2048x2048" | "3840x2160" | (string & {})
  /** Family A only, as far as the model supports it. */
  readonly aspect_ratio?: "1:1" | "2:3" | "3:2" | "3:4" | "4:3" | "4:5" | "5:4" | "9:16" | "16:9" | "21:9" | "1:4" | "1:8" | "4:1" | "8:1" | (string & {})
  /** Sent to the upstream for family B. No effect for family A. */
  readonly quality?: "low" | "medium" | "high" | "auto" | (string & {})
  /** One request makes one image. */
  readonly n?: 1
}

export type EstimatedImage = {
  /** The type of the decoded bytes. */
  readonly mime_type: "image/png" | "image/jpeg" | "image/webp"
  /** Base64 without a data-URL prefix. At most 20 MiB decoded, 64 MiB together. */
  readonly data?: string
}

/** An accepted task. */
export type TaskAccepted = {
  /** The public identifier of a task. */
  readonly task_id: string
  readonly status: "queued"
  /** Unix time in seconds. */
  readonly created_at: number
}

/** What a submit would hold, and whether it would be accepted. */
export type Estimate = {
  readonly object: "estimate"
  /** What the submit would hold. */
  readonly credits: number
  /** Whether the submit would be accepted now. */
  readonly accepted: boolean
  /** Why not: the error that the submit would get. */
  readonly reason?: {
    readonly code: string
    readonly message: string
  }
  /** Credits of the account that are not held. */
  readonly credits_available: number
  /** What is left of the budget of the API key. Null: it has none. */
  readonly budget: {
    readonly left: number
    readonly renews_at: string
  } | null
  /** The usual duration of the model, and what of the account waits before it now. */
  readonly expected_seconds: number
}

/** The record of a task. Fields that do not apply are absent, never null. */
export type Task = {
  /** The public identifier of a task. */
  readonly task_id: string
  readonly model: string
  /** `succeeded`, `failed` and `expired` are ends. A succeeded task becomes `expired` when its image is deleted, after 24 hours by default. */
  readonly status: "queued" | "processing" | "succeeded" | "failed" | "expired"
  readonly created_at: string
  /** Percent. It never falls, and is 100 only after success. */
  readonly progress: number
  /** Present when the task has ended. */
  readonly completed_at?: string
  /** Present while `status` is `succeeded`. */
  readonly output?: {
    readonly assets: readonly ({
      readonly type: "image"
      /** A download address. It works without a header. */
      readonly url: string
      readonly mime_type: "image/png" | "image/jpeg" | "image/webp"
    })[]
  }
  /** Present when `status` is `failed`. */
  readonly error?: {
    readonly code: "content_policy_violation" | "no_image_generated" | "upstream_invalid_request" | "rate_limit_exceeded" | "generation_timeout" | "upstream_error" | "cancelled"
    readonly message: string
  }
  /** The native response of the model family, with the address of the image in the place of its bytes. Present while `status` is `succeeded`. */
  readonly result?: ImagesResult | ContentResult
}

/** The response of family B, with the image by address. */
export type ImagesResult = {
  /** Unix time in seconds. */
  readonly created: number
  readonly data: readonly ({
    readonly url: string
  })[]
  /** Present when the upstream reports it. */
  readonly size?: string
  /** Present when the upstream reports it. */
  readonly quality?: string
  /** A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens. */
  readonly usage: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly total_tokens: number
    readonly input_tokens_details: {
      readonly text_tokens: number
      readonly image_tokens: number
    }
    readonly output_tokens_details: {
      readonly text_tokens: number
      readonly image_tokens: number
    }
  }
}

/** The response of family A, with the image by address. */
export type ContentResult = {
  /** The first candidate of the model. */
  readonly candidates?: readonly ({
    readonly content?: {
      readonly parts?: readonly ({
        readonly text?: string
        readonly thoughtSignature?: string
        readonly fileData?: {
          readonly mimeType: "image/png" | "image/jpeg" | "image/webp"
          readonly fileUri: string
        }
      })[]
    }
    readonly finishReason?: string
  })[]
  /** Why the model refused the prompt. */
  readonly promptFeedback?: {

  }
  readonly usageMetadata?: {

  }
  readonly modelVersion: string
  readonly responseId: string
}

/** The native response of family B. */
export type ImagesResponse = {
  /** Unix time in seconds. */
  readonly created: number
  /** The image, a PNG in Base64. */
  readonly data: readonly ({
    readonly b64_json: string
  })[]
  /** Present when the upstream reports it. */
  readonly size?: string
  /** Present when the upstream reports it. */
  readonly quality?: string
  /** A number that the upstream does not report is computed from the others, or 0. Tokens that it does not divide count as image tokens. */
  readonly usage: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly total_tokens: number
    readonly input_tokens_details: {
      readonly text_tokens: number
      readonly image_tokens: number
    }
    readonly output_tokens_details: {
      readonly text_tokens: number
      readonly image_tokens: number
    }
  }
}

/** The native response of family A. */
export type ContentResponse = {
  /** The first candidate of the model. */
  readonly candidates?: readonly ({
    readonly content?: {
      readonly parts?: readonly ({
        readonly text?: string
        readonly thoughtSignature?: string
        readonly inlineData?: {
          readonly mimeType: "image/png" | "image/jpeg" | "image/webp"
          readonly data: string
        }
      })[]
    }
    readonly finishReason?: string
  })[]
  /** Why the model refused the prompt. */
  readonly promptFeedback?: {

  }
  readonly usageMetadata?: {

  }
  readonly modelVersion: string
  readonly responseId: string
}

/** One page of tasks, newest first. */
export type TaskList = {
  readonly object: "list"
  readonly data: readonly (ListedTask)[]
  /** Whether more rows follow. */
  readonly has_more: boolean
}

/** The record of a task, without `result`. */
export type ListedTask = {
  /** The public identifier of a task. */
  readonly task_id: string
  readonly model: string
  /** `succeeded`, `failed` and `expired` are ends. A succeeded task becomes `expired` when its image is deleted, after 24 hours by default. */
  readonly status: "queued" | "processing" | "succeeded" | "failed" | "expired"
  readonly created_at: string
  /** Percent. It never falls, and is 100 only after success. */
  readonly progress: number
  /** Present when the task has ended. */
  readonly completed_at?: string
  /** Present while `status` is `succeeded`. */
  readonly output?: {
    readonly assets: readonly ({
      readonly type: "image"
      /** A download address. It works without a header. */
      readonly url: string
      readonly mime_type: "image/png" | "image/jpeg" | "image/webp"
    })[]
  }
  /** Present when `status` is `failed`. */
  readonly error?: {
    readonly code: "content_policy_violation" | "no_image_generated" | "upstream_invalid_request" | "rate_limit_exceeded" | "generation_timeout" | "upstream_error" | "cancelled"
    readonly message: string
  }
}

/** An account and its credits. */
export type Account = {
  readonly object: "account"
  readonly account_id: string
  readonly name: string
  readonly credits: {
    /** Can be held by new requests. */
    readonly available: number
    /** Held by requests that have not ended. */
    readonly held: number
    /** Charged since the account exists. */
    readonly spent: number
  }
  /** The models that the account may use. Null: all. */
  readonly models: readonly (string)[] | null
  /** What is beyond is 429 `rate_limit_exceeded`. Null: no limit. */
  readonly limits: {
    readonly requests: {
      /** So many tasks can be made at once. */
      readonly limit: number
      /** So long takes the refill of all, one after the other. */
      readonly period: "second" | "minute" | "hour"
      /** So many can be made now. */
      readonly remaining: number
    } | null
    readonly live_tasks: {
      readonly limit: number
      /** Tasks that have not ended. */
      readonly used: number
    } | null
  }
}

/** The models that the account may use. */
export type ModelList = {
  readonly object: "list"
  readonly data: readonly (Model)[]
}

/** A model that the account may use, with its prices. */
export type Model = {
  readonly id: string
  readonly object: "model"
  /** Unix time in seconds. The same for every model. */
  readonly created: number
  readonly owned_by: string
  readonly family: "A" | "B"
  readonly actions: readonly ("generate" | "edit")[]
  /** The accepted values of `size`. */
  readonly sizes: readonly (string)[]
  /** The accepted values of `aspect_ratio`. Null: the model does not take the field. */
  readonly aspect_ratios: readonly (string)[] | null
  /** The accepted values of `quality`. Null: the field has no effect. */
  readonly qualities: readonly (string)[] | null
  readonly prices: readonly (Price)[]
}

/** A price of a model. The first entry that matches a request counts. A field that is absent here matches any value, and a request without it. */
export type Price = {
  readonly size?: string
  readonly quality?: string
  readonly action?: "generate" | "edit"
  /** The credits that a request holds. */
  readonly credits: number
  /** Added for each source image. */
  readonly credits_per_input_image: number
}

/** What the tasks of an account cost in a period. */
export type Usage = {
  readonly object: "usage"
  readonly start_time: string
  readonly end_time: string
  readonly data: readonly ({
    /** The start of the day in UTC. Present when grouped by day. */
    readonly start_time?: string
    /** Present when grouped by model. */
    readonly model?: string
    /** Present when grouped by key. */
    readonly key_id?: string
    /** The tasks that ended in the period. */
    readonly tasks: {
      readonly succeeded: number
      readonly failed: number
    }
    /** What the succeeded tasks were charged. */
    readonly credits: number
  })[]
  readonly total: {
    /** The tasks that ended in the period. */
    readonly tasks: {
      readonly succeeded: number
      readonly failed: number
    }
    /** What the succeeded tasks were charged. */
    readonly credits: number
  }
}

/** A webhook and its signing secret. */
export type WebhookWithSecret = {
  /** The public identifier of a webhook. */
  readonly webhook_id: string
  /** The address, as it was registered. */
  readonly url: string
  readonly events: readonly ("task.succeeded" | "task.failed" | "account.balance_low" | "key.budget_reached")[]
  /** A webhook is disabled when its receiver answers 410, or by the operator. */
  readonly status: "active" | "disabled"
  readonly created_at: string
  /** The signing secret of Standard Webhooks. No other answer contains it. */
  readonly secret: string
}

/** A webhook. */
export type Webhook = {
  /** The public identifier of a webhook. */
  readonly webhook_id: string
  /** The address, as it was registered. */
  readonly url: string
  readonly events: readonly ("task.succeeded" | "task.failed" | "account.balance_low" | "key.budget_reached")[]
  /** A webhook is disabled when its receiver answers 410, or by the operator. */
  readonly status: "active" | "disabled"
  readonly created_at: string
}

/** One event for one webhook, with its tries. */
export type WebhookDelivery = {
  /** The public identifier of a delivery, and the `webhook-id` of its tries. */
  readonly delivery_id: string
  /** The public identifier of a webhook. */
  readonly webhook_id: string
  readonly event: "task.succeeded" | "task.failed" | "account.balance_low" | "key.budget_reached" | "webhook.test"
  /** Absent for events that belong to no task. */
  readonly task_id?: string
  readonly status: "pending" | "delivered" | "failed"
  readonly created_at: string
  /** The last tries, oldest first. */
  readonly attempts: readonly ({
    readonly at: string
    /** Present when the receiver answered. */
    readonly http_status?: number
    /** Present when it did not. */
    readonly error?: "address_not_allowed" | "name_not_resolved" | "connection_failed" | "tls_failed" | "timeout" | "answer_not_read"
  })[]
  /** Present while pending. */
  readonly next_attempt_at?: string
}

export type ListTasksQuery = {
  /** How many rows to return at most. */
  readonly limit?: number
  /** The last id of the previous page. The list continues after it. */
  readonly after?: string
  /** Only tasks with this status. */
  readonly status?: "queued" | "processing" | "succeeded" | "failed" | "expired"
  /** Only tasks of this model. */
  readonly model?: "familya-2.5-flash-image" | "familya-3.1-flash-lite-image" | "familya-3.1-flash-image" | "familya-3-pro-image" | "familyb-image-2-web" | "familyb-image-2-vip" | (string & {})
  /** Only tasks with this action. */
  readonly action?: "generate" | "edit"
  /** Only what was created at this time or later. ISO 8601 or Unix seconds. */
  readonly created_after?: string
  /** Only what was created before this time. ISO 8601 or Unix seconds. */
  readonly created_before?: string
}

export type GetUsageQuery = {
  /** The first instant. ISO 8601 or Unix seconds. Default: 30 days before `end_time`. */
  readonly start_time?: string
  /** The end, which is excluded. ISO 8601 or Unix seconds. Default: now. */
  readonly end_time?: string
  /** What to group the rows by: one or more of day, model, key, separated by commas. */
  readonly group_by?: string
}

export type ListWebhooksQuery = {
  /** How many rows to return at most. */
  readonly limit?: number
  /** The last id of the previous page. The list continues after it. */
  readonly after?: string
}

export type ListDeliveriesQuery = {
  /** How many rows to return at most. */
  readonly limit?: number
  /** The last id of the previous page. The list continues after it. */
  readonly after?: string
}

export type RegisterWebhookBody = {
  readonly url: string
  readonly events?: readonly ("task.succeeded" | "task.failed" | "account.balance_low" | "key.budget_reached")[]
}
