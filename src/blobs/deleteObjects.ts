import type { S3Client } from '@aws-sdk/client-s3'
import { DeleteObjectsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'

/** Removes every object whose name begins with `prefix`, a page of at most 1,000 at a time. */
export async function deleteObjects(
  client: S3Client,
  bucket: string,
  prefix: string,
): Promise<void> {
  let token: string | undefined
  do {
    const page = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
    )
    const objects = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
    if (objects.length > 0) {
      const answer = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: objects, Quiet: true } }),
      )
      const refused = answer.Errors?.[0]
      if (refused !== undefined) {
        throw new Error(`The blob store refused a deletion: ${refused.Code ?? 'no code'}`)
      }
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}
