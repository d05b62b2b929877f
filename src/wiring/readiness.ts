import type { Pool } from 'pg'
import type { BlobStore } from '../domain/ports/blobStore.ts'
import type { Readiness } from '../http/internalServer.ts'
import { readStoreId } from '../store/installation.ts'
import { neededSchemaVersion, schemaVersion } from '../store/schema/migrate.ts'
import type { Temporal } from '../temporal/connect.ts'
import { grpcReason } from '../temporal/grpcReason.ts'
import { createSearchAttributesCheck } from '../temporal/namespace.ts'

/** Probes come every second or so, from several sides: one look serves them all. */
const lookMsMax = 1_000
/** A part that takes longer counts as away; a probe has little patience. */
const partMsMax = 1_500

export type ReadinessDeps = {
  readonly pool: Pool
  readonly blobs: Pick<BlobStore, 'storeId'>
  readonly temporal: Temporal
}

/**
 * How the parts of one process stand, for `/readyz` (design section 3). Ready needs PostgreSQL with this
 * code's schema, and the blob store that belongs to it. Temporal is told of but may be away: what is
 * accepted meanwhile starts later. Search attributes that are missing are no outage but a `migrate` that
 * was forgotten: starts would be refused for good.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const attributesKnown = createSearchAttributesCheck(deps.temporal)

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
  let untilMs = 0
  return () => {
    if (latest === undefined || performance.now() >= untilMs) {
      untilMs = performance.now() + lookMsMax
      latest = look()
    }
    return latest
  }
}

/** One more part, needed as well. */
export function withPart({ ready, parts }: Readiness, name: string, state: string): Readiness {
  return { ready: ready && state === 'ok', parts: { ...parts, [name]: state } }
}

async function databaseParts(pool: Pool) {
  try {
    const [present, needed] = await within(() =>
      Promise.all([schemaVersion(pool), neededSchemaVersion()]),
    )
    return { database: 'ok', schema: present >= needed ? 'ok' : 'outdated' }
  } catch {
    return { database: 'unreachable', schema: 'unknown' }
  }
}

/** `foreign`: the images of this database lie in another store. */
async function blobStorePart({ pool, blobs }: ReadinessDeps): Promise<string> {
  try {
    const storeId = await within(() => blobs.storeId())
    const known = await within(() => readStoreId(pool)).catch(() => storeId)
    return known === storeId ? 'ok' : 'foreign'
  } catch {
    return 'unreachable'
  }
}

async function temporalPart({ client, withDeadline }: Temporal): Promise<string> {
  try {
    await withDeadline(partMsMax, () => client.workflowService.getSystemInfo({}))
    return 'ok'
  } catch (error) {
    return wordFor(error)
  }
}

/** `missing` also without the namespace: both are what `migrate` makes. */
async function attributesPart(known: () => Promise<boolean>): Promise<string> {
  try {
    return (await within(known)) ? 'ok' : 'missing'
  } catch (error) {
    return wordFor(error) === 'not_found' ? 'missing' : 'unknown'
  }
}

/** `unavailable`, `deadline_exceeded`, `permission_denied`: gRPC's own words. */
function wordFor(error: unknown): string {
  try {
    return grpcReason(error).toLowerCase()
  } catch {
    return 'failed'
  }
}

async function within<Value>(ask: () => Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), partMsMax)
  try {
    return await Promise.race([ask(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
