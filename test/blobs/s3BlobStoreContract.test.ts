import { basename } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { openBlobStore } from '../../src/blobs/openBlobStore.ts'
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

it('a presigned address gives the blob, whole and in part, with the headers that were asked for', async () => {
  const { store, close } = await openBlobStore(`s3://${server?.bucket ?? ''}/presigned`)
  onTestFinished(close)
  await store.put(['an1/image', Buffer.from('0123456789')])
  const asked = { contentType: 'image/png', contentDisposition: 'inline', cacheControl: 'private' }
  const address = (await store.presign?.('an1/image', { livesSeconds: 60, ...asked })) ?? ''
  expect(new URL(address).searchParams.get('X-Amz-Expires')).toBe('60')
  const answer = await fetch(address)
  expect(await answer.text()).toBe('0123456789')
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': 'inline',
    'cache-control': 'private',
  })
  const part = await fetch(address, { headers: { Range: 'bytes=3-5' } })
  expect([part.status, await part.text()]).toEqual([206, '345'])
})
