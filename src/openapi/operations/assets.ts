import { z } from 'zod'
import type { Headers } from '../answerHeaders.ts'
import type { Content, Operation } from '../operation.ts'
import { inputMimeTypes } from '../../domain/models/models.ts'
import { taskId } from '../../schema/answers/taskRecord.ts'

const image: Content = Object.fromEntries(
  inputMimeTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
)

const headers: Headers = {
  ETag: 'always',
  'Accept-Ranges': 'always',
  'Content-Disposition': 'always',
  'Content-Security-Policy': 'always',
  'Cross-Origin-Resource-Policy': 'always',
}

export const getAsset: Operation = {
  method: 'get',
  path: '/v1/assets/{task_id}/{name}',
  id: 'getAsset',
  tag: 'Tasks',
  summary: 'Download a finished image',
  description:
    'The address is in `output.assets` of the record. It is signed, works without an API key, and expires with the image.',
  extension: true,
  access: 'open',
  envelope: 'full',
  request: {
    path: z.object({ task_id: taskId, name: z.enum(['image.png', 'image.jpg', 'image.webp']) }),
    query: z.object({
      version: z.literal('1'),
      key: z.string(),
      expires: z.string(),
      signature: z.string(),
    }),
    headers: z.object({
      Range: z.string().optional().meta({ example: 'bytes=0-1023' }),
      'If-None-Match': z.string().optional(),
      'If-Range': z.string().optional(),
    }),
  },
  answers: {
    200: { description: 'The image.', headers, content: image },
    206: {
      description: 'The requested part of the image.',
      headers: { ...headers, 'Content-Range': 'always' },
      content: image,
    },
    307: {
      description:
        'The image is at an address of the blob store, which works for a minute (`ASSET_REDIRECT`).',
      headers: { ETag: 'always', Location: 'always' },
    },
    304: { description: 'The image that the client has is the right one.', headers },
  },
  errors: ['asset_not_found', 'range_not_satisfiable'],
  errorHeaders: { 'Content-Range': 'sometimes' },
}
