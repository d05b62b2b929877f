import type { ParameterizedContext } from 'koa'
import type { SyncWaits } from './answers/syncWaits.ts'
import type { Caller } from '../domain/accounts/account.ts'
import type { RequestFailure, TaskFailure } from '../domain/failure.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { Family } from '../domain/models/models.ts'
import type { CapabilityTable } from '../domain/models/capabilities.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { TaskView } from '../domain/tasks/task.ts'
import type { ByteBudget } from './intake/byteBudget.ts'
import type { LoopTurns } from './intake/loopTurns.ts'
import type { TaskService } from '../tasks/taskService.ts'

/** What the middleware and the route of one request share. */
export type ApiState = {
  requestId: string
  /** The pattern of the route, for logs and metrics; `unmatched` without a route. */
  route: string
  /** Task lookups answer errors in the short envelope: `code` and `message` only. */
  envelope: 'full' | 'short'
  accountId?: string
  taskId?: string
  /** Set once the request is accepted. True when its idempotency key names an earlier task. */
  replayed?: boolean
  /**
   * True while a retry may make a second task, or repeat work that is done already. A 5xx then has the
   * header `x-should-retry: false`.
   */
  retryMayRepeatWork?: boolean
}

export type ApiContext = ParameterizedContext<ApiState>

/** The context inside a route, with the parameters of its path. */
export type RouteContext = ApiContext & { params: Readonly<Record<string, string>> }

/** Why a request ends without the answer it asked for. `errors.ts` translates each one to HTTP. */
export type HttpFailure =
  | RequestFailure
  /** The task of a synchronous call ended without an image. */
  | { readonly tag: 'task_ended'; readonly failure: TaskFailure; readonly family: Family }
  /** The task of a synchronous call takes longer than the call is held open. The task continues. */
  | { readonly tag: 'sync_deadline' }
  /** The key of a synchronous call names a task whose image is past its retention. */
  | { readonly tag: 'result_expired' }
  /** The same for foreign, invented, tampered and expired asset URLs, so that nobody can tell them apart. */
  | { readonly tag: 'asset_not_found' }
  | { readonly tag: 'range_not_satisfiable'; readonly bytes: number }
  | { readonly tag: 'not_ready' }
  | { readonly tag: 'internal_error' }

/** Sends the answer, or returns the failure that `errors.ts` answers with. */
export type Handler = (context: RouteContext) => Promise<HttpFailure | undefined>
export type AccountHandler = (
  context: RouteContext,
  caller: Caller,
) => Promise<HttpFailure | undefined>

/** Everything that the HTTP API needs. `src/wiring/api.ts` provides it. */
export type ApiDeps = {
  readonly tasks: TaskService
  /** Reads a task of any account, for a request with a signed asset URL. */
  readonly findTask: (taskId: string) => Promise<TaskView | undefined>
  /** Holds the input images of requests, and the finished images. */
  readonly blobs: BlobStore
  readonly config: ApiConfig
  /** For asset URLs. */
  readonly signingKeys: SigningKeys
  readonly randomBytes: RandomBytes
  /** Whether `/readyz` answers 200. A rejection counts as false. */
  readonly ready: () => Promise<boolean>
  /** Called once per request, when its answer has been sent or its client has left. Must not throw. */
  readonly observe?: (seen: Observation) => void
  /** Called with every error that is a bug or an outage. Must not throw. */
  readonly reportError?: (error: unknown, request: ReportedRequest) => void
}

export type ApiConfig = {
  /** The base of asset and Location URLs, without a trailing slash. It never comes from a request. */
  readonly publicUrl: string
  /** The maximum size of one body, both as sent and decompressed. */
  readonly ingressLimitBytes: number
  /** How long a synchronous call is held open, from its acceptance. */
  readonly syncDeadlineMs: number
  readonly capabilities: CapabilityTable
  /** Bytes of large bodies that are received at the same time, default 1 GiB: see `byteBudget.ts`. */
  readonly largeBodiesBytesMax?: number
}

/** The first key signs, and all of them verify. So a key can be replaced while its URLs stay valid. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]
export type SigningKey = { readonly id: string; readonly secret: string }

/** One request, for the access log and the metrics. It never contains text that the client wrote. */
export type Observation = {
  /** The pattern of the route, or `unmatched`. */
  readonly route: string
  /** A method of RFC 9110, PATCH, or `OTHER`. */
  readonly method: string
  /** 499 when the client left before the answer was sent. */
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly accountId?: string
  readonly taskId?: string
  /** Present when the request made a task (false), or when its key named an earlier task (true). */
  readonly replayed?: boolean
}

type ReportedRequest = { readonly requestId: string; readonly route: string }

/** The dependencies, and the state that one process keeps across requests. */
export type ApiParts = ApiDeps & {
  readonly largeBodies: ByteBudget
  readonly loopTurns: LoopTurns
  readonly syncWaits: SyncWaits
}
