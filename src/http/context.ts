import type { ParameterizedContext } from 'koa'
import type { ClientWaits, WaitersMax } from './answers/clientWaits.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure } from '../domain/failure.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { Price } from '../domain/models/prices.ts'
import type { AccountReads } from '../store/accounts/accountStore.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { ByteBudget } from '../bytes/byteBudget.ts'
import type { TaskService } from '../tasks/taskService.ts'
import type { WebhookService } from '../tasks/webhooks/webhookService.ts'

/** What the middleware and the route of one request share. */
export type ApiState = {
  requestId: string
  /** The pattern of the route, for logs and metrics. `unmatched` when no route matches the request. */
  route: string
  /** `short` for task lookups: their error answers contain only `code` and `message`. */
  envelope: 'full' | 'short'
  accountId?: string
  /** The key of an operator, in the admin process. */
  keyId?: string
  taskId?: string
  /** Set when the request is accepted. True when the request's idempotency key names an earlier task. */
  replayed?: boolean
  /**
   * True when the client's next try may make a second task, or repeat work that is already done. A 5xx answer
   * then has the header `x-should-retry: false`.
   */
  retryIsUnsafe?: boolean
}

export type ApiContext = ParameterizedContext<ApiState>

/** The context inside a route, with the parameters of its path. */
export type RouteContext = ApiContext & { params: Readonly<Record<string, string>> }

/** Why a request does not get the answer it asked for. `errors.ts` translates each failure to HTTP. */
export type HttpFailure =
  | RequestFailure
  | { readonly tag: 'too_many_waiters'; readonly retryAfterSeconds: number }
  | { readonly tag: 'range_not_satisfiable'; readonly bytes: number }
  /** What an operator asked for was not done, in the words of the operation. 404, or 409 unless a field is wrong. */
  | { readonly tag: 'no_such'; readonly message: string }
  | {
      readonly tag: 'operation_refused'
      readonly code: string
      readonly message: string
      readonly param?: string
    }
  /** Their texts are in the table of `errorNames.ts`. */
  | {
      readonly tag:
        | 'generation_timeout'
        | 'result_expired'
        | 'asset_not_found'
        | 'unknown_model'
        | 'not_ready'
        | 'internal_error'
        | 'not_http'
        | 'request_timeout'
        | 'headers_too_large'
    }

/** Sends the answer and returns `undefined`, or returns a failure. `errors.ts` answers with that failure. */
export type Handler = (context: RouteContext) => Promise<HttpFailure | undefined>
export type AccountHandler = (
  context: RouteContext,
  caller: Caller,
) => Promise<HttpFailure | undefined>

/** Everything that the HTTP API needs. `src/wiring/apiProcess.ts` provides it. */
export type ApiDeps = {
  readonly tasks: TaskService
  readonly webhooks: WebhookService
  readonly reads: AccountReads
  /** Reads a task of any account, for a request with a signed asset URL. */
  readonly readTaskOfImage: (taskId: string) => Promise<TaskView | undefined>
  /** Contains the input images of requests, and the finished images. */
  readonly blobs: BlobStore
  readonly config: ApiConfig
  /** Sign and verify asset URLs. */
  readonly signingKeys: SigningKeys
  /** Returns whether `/readyz` answers 200. A rejected promise counts as false. */
  readonly ready: () => Promise<boolean>
  /** Aborts when the process begins to stop. Waiting lookups are answered then, and event streams end. */
  readonly stopping: AbortSignal
  /** Called once per request, when its answer has been sent or its client has left. Must not throw. */
  readonly observe?: (seen: Observation) => void
  /** Called with every error that is a bug or an outage. Must not throw. */
  readonly reportError?: (error: unknown, request: ReportedRequest) => void
}

export type ApiConfig = {
  /**
   * The base of asset URLs and Location headers, without a trailing slash. Only the configuration sets this
   * text; a request never does.
   */
  readonly publicUrl: string
  /** The maximum size of one request body. It limits the bytes as sent, and also the decompressed bytes. */
  readonly ingressLimitBytes: number
  /** How long a synchronous call may wait for its image, counted from the moment its request is accepted. */
  readonly syncDeadlineMs: number
  readonly capabilities: CapabilityTable
  /** Every price, the operator's first. */
  readonly prices: readonly Price[]
  /** Whether the playground, the reference and the OpenAPI document are served. Nobody needs a key for them. */
  readonly publicPages: boolean
  /** The file in which `npm start` says what it still builds. */
  readonly engineFile: string
  /** Whether a GET of an image is answered with an address of the blob store, if the store has addresses. */
  readonly assetRedirect: boolean
  /**
   * Limit for the bytes of all large bodies in memory at the same time. Default 256 MiB. See `byteBudget.ts`.
   */
  readonly largeBodiesBytesMax?: number
  /** Limits for the waiters of one account and of the process. See `clientWaits.ts`. */
  readonly waitersMax?: WaitersMax
}

/**
 * The first key signs new URLs. Every key verifies. So an operator can add a new first key, and URLs signed
 * with an older key stay valid.
 */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]
export type SigningKey = { readonly id: string; readonly secret: string }

/** One request, for the access log and the metrics. It never contains text that the client wrote. */
export type Observation = {
  /** The pattern of the route. `unmatched` when no route matches the request. */
  readonly route: string
  /**
   * One of the methods that Node's parser knows. It refuses every other one, so that no client can invent labels of a
   * metric.
   */
  readonly method: string
  /** 499 when the client left before the whole answer was sent. */
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly accountId?: string
  readonly keyId?: string
  readonly taskId?: string
  /**
   * False when the request made a new task, true when its key named an earlier task, absent when it did
   * neither.
   */
  readonly replayed?: boolean
}

type ReportedRequest = { readonly requestId: string; readonly route: string }

/** The dependencies, and the state that one API process keeps across requests. */
export type ApiParts = ApiDeps & {
  /** Memory for bodies until their requests are accepted. */
  readonly largeBodies: ByteBudget
  readonly waits: ClientWaits
}
