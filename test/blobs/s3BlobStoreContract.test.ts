import { basename } from 'node:path'
import { afterAll, beforeAll, vi } from 'vitest'
import { blobStoreContract } from './blobStoreContract.ts'
import type { S3Server } from '../support/blobs/s3Server.ts'
import { s3ServerStartMsMax, startS3Server } from '../support/blobs/s3Server.ts'

let server: S3Server | undefined

beforeAll(async () => {
  server = await startS3Server()
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value)
}, s3ServerStartMsMax)

afterAll(async () => {
  vi.unstubAllEnvs()
  await server?.stop()
})

blobStoreContract('S3', (folder) => `s3://${server?.bucket ?? ''}/nested/${basename(folder)}`)
