import type { Pool } from 'pg'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Readiness } from '../http/internalServer.ts'
import { readStoreId } from '../store/blobStoreId.ts'
import { neededSchemaVersion, schemaVersion } from '../store/schema/migrate.ts'
import type { Temporal } from '../temporal/connect.ts'
import { grpcReason } from '../temporal/grpcReason.ts'
import { createAttributesKnown } from '../temporal/namespace.ts'

/** Several load balancers probe every second or so. They share one look at the parts. */
const lookCachedMs = 1_000
/** A part that is slower counts as unavailable. Probes time out after a few seconds. */
const partTimeoutMs = 1_500

export type ReadinessDeps = {
  readonly pool: Pool
  readonly blobs: Pick<BlobStore, 'storeId'>
  readonly temporal: Temporal
}

/**
 * The state of the parts of one process, for `/readyz`. Ready needs PostgreSQL with the schema of this
 * code, and the blob store that belongs to it.
 *
 * Temporal is reported but may be unavailable: tasks accepted meanwhile start later. Missing search
 * attributes make the process not ready: `migrate` was forgotten, and Temporal refuses every start
 * until it runs.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const attributesKnown = createAttributesKnown(deps.temporal)

  async function look(): Promise<Readiness> {
    const [database, blobStore, temporal, attributes] = await Promise.all([
      databaseParts(deps.pool),
      blobStorePart(deps),
      temporalPart(deps.temporal),
      attributesPart(attributesKnown),
    ])
    const needed = [database.database, database.schema, blobStore]
    const ready = needed.every((part) => part === 'ok') && attributes !== 'missing'
    const parts = { ...database, blob_store: blobStore, temporal, search_attributes: attributes }
    return { ready, parts }
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

/** Adds a part that must be `ok` as well. */
export function withPart({ ready, parts }: Readiness, name: string, state: string): Readiness {
  return { ready: ready && state === 'ok', parts: { ...parts, [name]: state } }
}

async function databaseParts(pool: Pool) {
  try {
    const [present, needed] = await askInTime(() =>
      Promise.all([schemaVersion(pool), neededSchemaVersion()]),
    )
    return { database: 'ok', schema: present >= needed ? 'ok' : 'outdated' }
  } catch {
    return { database: 'unreachable', schema: 'unknown' }
  }
}

/** `foreign`: the images of this database are in another store. */
async function blobStorePart({ pool, blobs }: ReadinessDeps): Promise<string> {
  try {
    const storeId = await askInTime(() => blobs.storeId())
    const known = await askInTime(() => readStoreId(pool)).catch(() => storeId)
    return known === storeId ? 'ok' : 'foreign'
  } catch {
    return 'unreachable'
  }
}

async function temporalPart({ client, within }: Temporal): Promise<string> {
  try {
    await within(partTimeoutMs, () => client.workflowService.getSystemInfo({}))
    return 'ok'
  } catch (error) {
    return statusOf(error)
  }
}

/** `missing` also when the namespace is missing: `migrate` creates both. */
async function attributesPart(known: () => Promise<boolean>): Promise<string> {
  try {
    return (await askInTime(known)) ? 'ok' : 'missing'
  } catch (error) {
    return statusOf(error) === 'not_found' ? 'missing' : 'unknown'
  }
}

/**
 * The name of the gRPC status in lower case: `unavailable`, `deadline_exceeded`, `permission_denied`.
 */
function statusOf(error: unknown): string {
  try {
    return grpcReason(error).toLowerCase()
  } catch {
    return 'failed'
  }
}

/** Rejects after `partTimeoutMs`. `ask` itself goes on, and its result is ignored. */
async function askInTime<Value>(ask: () => Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), partTimeoutMs)
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
