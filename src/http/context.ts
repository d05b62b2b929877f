import type { ParameterizedContext } from 'koa'
import type { Caller } from '../domain/account.ts'
import type { CapabilityTable } from '../domain/capabilities.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { TaskView } from '../domain/task.ts'
import type { TaskService } from '../tasks/taskService.ts'
import type { SyncWaits } from './answers/answerSync.ts'
import type { HttpFailure } from './errors.ts'
import type { ByteBudget } from './intake/byteBudget.ts'

/** What the middleware and the routes of one request tell each other. */
export type ApiState = {
  requestId: string
  /** Pattern of the route, for logs and metrics. */
  route: string
  envelope: 'full' | 'short'
  accountId?: string
  taskId?: string
  /** Of a request that was accepted: its key named an earlier task. */
  replayed?: boolean
  /**
   * Set while a retry may buy a second image, or is for work that is done: a 5xx says
   * `x-should-retry: false`.
   */
  retryMayRepeatWork?: boolean
}

export type ApiContext = ParameterizedContext<ApiState>

/** Inside a route, with the parameters of its path. */
export type RouteContext = ApiContext & { params: Readonly<Record<string, string>> }

/** Answers by itself, or gives back why it did not: only `errors.ts` writes failures. */
export type Handler = (context: RouteContext) => Promise<HttpFailure | undefined>
export type AccountHandler = (
  context: RouteContext,
  caller: Caller,
) => Promise<HttpFailure | undefined>

/** Everything the HTTP face needs, passed in by `src/wiring/api.ts`. */
export type ApiDeps = {
  readonly tasks: TaskService
  /** A task by its id alone, for whoever holds a signed asset URL: `TaskStore.readTaskOfImage`. */
  readonly findTask: (taskId: string) => Promise<TaskView | undefined>
  /** Inputs go in here while a body is read, finished images come out of it. */
  readonly blobs: BlobStore
  readonly config: ApiConfig
  /** Sign asset URLs. */
  readonly signingKeys: SigningKeys
  readonly randomBytes: RandomBytes
  /** Answers `/readyz`; a rejection counts as false. */
  readonly ready: () => Promise<boolean>
  /** Called once per request, when its answer has been sent or its client has gone. Must not throw. */
  readonly observe?: (seen: Observation) => void
  /** Errors that are bugs or outages, with what a log needs to find the request. Must not throw. */
  readonly reportError?: (error: unknown, request: ReportedRequest) => void
}

export type ApiConfig = {
  /** Base of asset and Location URLs, without trailing slash; never taken from a request. */
  readonly publicUrl: string
  /** Decompressed bytes of one body; also the bound of its bytes as sent. */
  readonly ingressLimitBytes: number
  /** How long a synchronous call is held open, from its acceptance. */
  readonly syncDeadlineMs: number
  readonly capabilities: CapabilityTable
  /** Bytes of large bodies that may be under way at once; default 1 GiB. See `byteBudget.ts`. */
  readonly largeBodiesBytesMax?: number
}

/** The first signs, all verify: so keys are rotated without breaking the URLs of the last 24 hours. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]
export type SigningKey = { readonly id: string; readonly secret: string }

/** One request for access log and metrics: enumerations, patterns and ids, never what a client wrote. */
export type Observation = {
  /** Pattern of the route, or `unmatched`. */
  readonly route: string
  /** A method of HTTP, or `OTHER`. */
  readonly method: string
  /** 499: the client left before the answer was sent. */
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly accountId?: string
  readonly taskId?: string
  /** Only of a request that made a task (false) or joined one by its key (true). */
  readonly replayed?: boolean
}

type ReportedRequest = { readonly requestId: string; readonly route: string }

/** What the routes share: the dependencies, and what one process keeps between its requests. */
export type ApiParts = ApiDeps & {
  readonly largeBodies: ByteBudget
  readonly syncWaits: SyncWaits
}
