import { describe, expect, it } from 'vitest'
import { deleteObjects } from '../../src/blobs/s3Objects.ts'
import { fakeObjectStore } from '../support/blobs/fakeObjectStore.ts'

function listing(keys: readonly string[], next?: string): string {
  const objects = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')
  const more =
    next === undefined
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
  return `<ListBucketResult>${objects}${more}</ListBucketResult>`
}

describe('deletion from an object store', () => {
  it('goes through every page of the listing', async () => {
    const { client, seen } = await fakeObjectStore(({ method, url }, response) => {
      if (method === 'POST') response.end('<DeleteResult/>')
      else response.end(url.includes('token=') ? listing(['an1/b']) : listing(['an1/a'], 'more'))
    })
    await deleteObjects(client, 'bucket', 'an1/')
    const deletions = seen.filter(({ method }) => method === 'POST')
    const keys = deletions.map(({ body }) => /<Key>(.*?)<\/Key>/.exec(body.toString())?.[1])
    expect(keys).toEqual(['an1/a', 'an1/b'])
  })

  it('fails when the store refuses to delete one of the objects', async () => {
    const refused =
      '<DeleteResult><Error><Key>an1/a</Key><Code>AccessDenied</Code></Error></DeleteResult>'
    const { client } = await fakeObjectStore(({ method }, response) => {
      response.end(method === 'POST' ? refused : listing(['an1/a']))
    })
    await expect(deleteObjects(client, 'bucket', 'an1/')).rejects.toThrow('AccessDenied')
  })
})
