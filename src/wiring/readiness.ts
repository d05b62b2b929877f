import type { Pool } from 'pg'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import { withTimeout } from '../domain/withTimeout.ts'
import type { Readiness } from '../http/server/internalServer.ts'
import { readStoreId } from '../store/installation.ts'
import { neededSchemaVersion, schemaVersion } from '../store/schema/migrate.ts'
import type { Temporal } from '../temporal/connect.ts'
import { grpcReason } from '../temporal/grpcReason.ts'
import { missingSearchAttributes } from '../temporal/namespace.ts'

/** How long a result is used again, so that several load balancers share one check of the parts. */
const lookCachedMs = 1_000
/** Limit for the check of one part. A slower part counts as unavailable. Shorter than the timeout of probes. */
const partTimeoutMs = 1_500

export type ReadinessDeps = {
  readonly pool: Pool
  readonly blobs: Pick<BlobStore, 'storeId'>
  /** Absent in a process that stores nothing. */
  readonly takesWrites?: () => Promise<boolean>
  /** Absent in a process that does not report on Temporal. */
  readonly temporal?: Temporal
}

/**
 * Creates the check of the parts of one process, for `/readyz`. A process is ready when PostgreSQL has the
 * schema of this code, and the blob store is the one that belongs to this database and takes images.
 *
 * Temporal's state is reported, but the process is ready without Temporal, and also without the search attributes,
 * which `migrate` registers: as long as Temporal starts no run, the workers make all images themselves.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  async function look(): Promise<Readiness> {
    const [database, blobStore, temporal] = await Promise.all([
      databaseParts(deps.pool),
      blobStorePart(deps),
      deps.temporal && temporalParts(deps.temporal),
    ])
    const needed = [database.database, database.schema, blobStore]
    const ready = needed.every((part) => part === 'ok')
    return { ready, parts: { ...database, blob_store: blobStore, ...temporal } }
  }
  let latest: Promise<Readiness> | undefined
  let untilAtMs = 0
  return () => {
    if (latest === undefined || performance.now() >= untilAtMs) {
      untilAtMs = performance.now() + lookCachedMs
      latest = look()
    }
    return latest
  }
}

/** Adds a part. The process is ready only if this part is `ok` too. */
export function withPart({ ready, parts }: Readiness, name: string, state: string): Readiness {
  return { ready: ready && state === 'ok', parts: { ...parts, [name]: state } }
}

async function databaseParts(pool: Pool) {
  try {
    const [present, needed] = await withTimeout(partTimeoutMs, () =>
      Promise.all([schemaVersion(pool), neededSchemaVersion()]),
    )
    return { database: 'ok', schema: present >= needed ? 'ok' : 'outdated' }
  } catch {
    return { database: 'unreachable', schema: 'unknown' }
  }
}

/**
 * Checks the blob store. `foreign` means that the images of this database are in another store, and `read_only` that it
 * takes no image: a call made now would be paid for and lost.
 */
async function blobStorePart({ pool, blobs, takesWrites }: ReadinessDeps): Promise<string> {
  try {
    const [storeId, isWritable = true] = await withTimeout(partTimeoutMs, () =>
      Promise.all([blobs.storeId(), takesWrites?.()]),
    )
    const known = await withTimeout(partTimeoutMs, () => readStoreId(pool)).catch(() => storeId)
    if (known !== storeId) return 'foreign'
    return isWritable ? 'ok' : 'read_only'
  } catch {
    return 'unreachable'
  }
}

/**
 * Looks for a run that does not exist: Temporal answers that only while its history service reaches its database. The
 * search attributes are `missing` also when the namespace is, because `migrate` creates both.
 */
async function temporalParts(temporal: Temporal) {
  const { client, namespace, withDeadline } = temporal
  const noRun = { namespace, execution: { workflowId: 'readiness-probe' } }
  const [state, attributes] = await Promise.all([
    withDeadline(partTimeoutMs, () => client.workflowService.describeWorkflowExecution(noRun)).then(
      () => 'ok',
      (error) => (statusOf(error) === 'not_found' ? 'ok' : statusOf(error)),
    ),
    withTimeout(partTimeoutMs, () => missingSearchAttributes(temporal)).then(
      (missing) => (missing.length === 0 ? 'ok' : 'missing'),
      (error) => (statusOf(error) === 'not_found' ? 'missing' : 'unknown'),
    ),
  ])
  return { temporal: state, search_attributes: attributes }
}

/** Returns the name of the gRPC status in lower case, such as `unavailable` or `permission_denied`. */
function statusOf(error: unknown): string {
  try {
    return grpcReason(error).toLowerCase()
  } catch {
    return 'failed'
  }
}
