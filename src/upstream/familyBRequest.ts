import { assertNever } from '../domain/assertNever.ts'
import type { ImageRequest } from '../domain/imageRequest.ts'
import type { ImageMimeType } from '../domain/models.ts'
import type { BodyPiece } from './requestBody.ts'

export type FamilyBRequest = {
  readonly path: '/images/generations' | '/images/edits'
  readonly contentType: string
  readonly pieces: readonly BodyPiece[]
}

/**
 * A request as family B's generations JSON or edits form (research wire.md section 2). PNG is asked for
 * because the spec promises it. `boundary`: random text that no part contains.
 */
export function familyBRequest(
  request: ImageRequest,
  upstreamModel: string,
  boundary: string,
): FamilyBRequest {
  if (request.body.kind !== 'prompt') throw new Error('Bug: family B has no content documents')
  const fields = {
    model: upstreamModel,
    prompt: request.body.prompt,
    n: 1,
    ...(request.size === undefined ? {} : { size: request.size }),
    ...(request.quality === undefined ? {} : { quality: request.quality }),
    output_format: 'png',
  }
  switch (request.action) {
    case 'generate':
      return {
        path: '/images/generations',
        contentType: 'application/json',
        pieces: [{ kind: 'text', text: JSON.stringify(fields) }],
      }
    case 'edit':
      return {
        path: '/images/edits',
        contentType: `multipart/form-data; boundary=${boundary}`,
        pieces: formPieces(fields, request, boundary),
      }
    default:
      return assertNever(request.action)
  }
}

function formPieces(
  fields: Readonly<Record<string, string | number>>,
  request: ImageRequest,
  boundary: string,
): readonly BodyPiece[] {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${partHead(boundary, `name="${name}"`)}\r\n${String(value)}\r\n`,
  )
  // Vendors take one image as `image`, several only as `image[]`.
  const name = request.inputs.length === 1 ? 'image' : 'image[]'
  const images = request.inputs.flatMap((input, at): readonly BodyPiece[] => {
    const fileName = `image-${at + 1}.${extensions[input.mimeType]}`
    const head = partHead(boundary, `name="${name}"; filename="${fileName}"`)
    return [
      { kind: 'text', text: `${head}Content-Type: ${input.mimeType}\r\n\r\n` },
      { kind: 'raw', input },
      { kind: 'text', text: '\r\n' },
    ]
  })
  return [
    { kind: 'text', text: texts.join('') },
    ...images,
    { kind: 'text', text: `--${boundary}--\r\n` },
  ]
}

function partHead(boundary: string, disposition: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
}

const extensions: Readonly<Record<ImageMimeType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}
