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

export type GenerationsRequest = {
  readonly model: "familyb-image-2-web" | "familyb-image-2-vip" | (string & {})
  readonly prompt: string
  /** `auto` is as good as no size. */
  readonly size?: "1024x1024" | "2048x2048" | "3840x2160" | "auto" | (string & {})
  readonly quality?: "low" | "medium" | "high" | "auto" | (string & {})
  /** Only b64_json: the answer contains the image; a task made at /v1/images/tasks has the address of its image. */
  readonly response_format?: "b64_json"
  /** Only png: images are PNG. */
  readonly output_format?: "png"
  /** Only auto: the model decides about the background. */
  readonly background?: "auto"
  /** Only auto: the model decides about moderation. */
  readonly moderation?: "auto"
  /** Has no effect. */
  readonly user?: string
  readonly n?: 1
  /** Answers with server-sent events. */
  readonly stream?: boolean
  /** Only 0 without a stream. No partial images are sent. */
  readonly partial_images?: number
}

export type EditsForm = {
  readonly model: "familyb-image-2-web" | "familyb-image-2-vip" | (string & {})
  readonly prompt: string
  /** `auto` is as good as no size. */
  readonly size?: "1024x1024" | "2048x2048" | "3840x2160" | "auto" | (string & {})
  readonly quality?: "low" | "medium" | "high" | "auto" | (string & {})
  /** Only b64_json: the answer contains the image; a task made at /v1/images/tasks has the address of its image. */
  readonly response_format?: "b64_json"
  /** Only png: images are PNG. */
  readonly output_format?: "png"
  /** Only auto: the model decides about the background. */
  readonly background?: "auto"
  /** Only auto: the model decides about moderation. */
  readonly moderation?: "auto"
  /** Has no effect. */
  readonly user?: string
  readonly n?: "1"
  /** Answers with server-sent events. */
  readonly stream?: "true" | "false"
  /** Only 0 without a stream. No partial images are sent. */
  readonly partial_images?: "0" | "1" | "2" | "3"
  /** A PNG, JPEG or WebP file. Its type is read from its bytes. */
  readonly image: string
}

/** The supported part of a `generateContent` request. Every key may also be in snake_case. A document with images is an edit. */
export type ContentRequest = {
  readonly contents: readonly ({
    readonly role?: "user" | "model"
    readonly parts: readonly (unknown | unknown | unknown)[]
  })[]
  readonly systemInstruction?: {
    readonly role?: "system" | "user"
    readonly parts: readonly ({
      readonly text: string
    })[]
  }
  readonly safetySettings?: readonly ({
    readonly category: string
    readonly threshold: "HARM_BLOCK_THRESHOLD_UNSPECIFIED" | "BLOCK_LOW_AND_ABOVE" | "BLOCK_MEDIUM_AND_ABOVE" | "BLOCK_ONLY_HIGH" | "BLOCK_NONE" | "OFF"
  })[]
  readonly generationConfig?: {
    readonly responseModalities?: readonly ("TEXT" | "IMAGE")[]
    readonly imageConfig?: {
      readonly aspectRatio?: "1:1" | "2:3" | "3:2" | "3:4" | "4:3" | "4:5" | "5:4" | "9:16" | "16:9" | "21:9" | "1:4" | "1:8" | "4:1" | "8:1" | (string & {})
      readonly imageSize?: "1K" | "2K" | "4K" | (string & {})
    }
    readonly candidateCount?: 1
    readonly temperature?: number
    readonly topP?: number
    readonly topK?: number
    readonly seed?: number
    readonly maxOutputTokens?: number
    readonly thinkingConfig?: {
      readonly includeThoughts?: boolean
      readonly thinkingBudget?: number
      /** In any letter case. */
      readonly thinkingLevel?: "THINKING_LEVEL_UNSPECIFIED" | "MINIMAL" | "LOW" | "MEDIUM" | "HIGH"
    }
  }
  /** Only an empty list, which Google's clients send. It has no effect. */
  readonly tools?: readonly (unknown)[]
}

/** An accepted task. */
export type TaskAccepted = {
  /** The public identifier of a task. */
  readonly task_id: string
  readonly status: "queued"
  /** Unix time in seconds. */
  readonly created_at: number
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

/** Why a stream that has begun has no image. */
export type ContentStreamError = {
  readonly error: {
    readonly code: number
    readonly message: string
    readonly status: string
    readonly details: readonly ({
      readonly "@type": string
    })[]
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

export type GetAssetQuery = {
  readonly version?: "1"
  readonly key?: string
  readonly expires?: string
  readonly signature?: string
  /** Returns the image at most this wide. It is never enlarged. */
  readonly width?: "128" | "256" | "512" | "1024"
  /** Returns the image in this format. */
  readonly format?: "png" | "jpeg" | "webp"
  /** Returns what the vendor sent, where the image was converted from it. Else 404. */
  readonly original?: "true"
}

export type StreamGenerateContentQuery = {
  /** `sse`: server-sent events. `json`: an array. */
  readonly alt?: "sse" | "json"
}

export type StreamGenerateContentV1Query = {
  /** `sse`: server-sent events. `json`: an array. */
  readonly alt?: "sse" | "json"
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
