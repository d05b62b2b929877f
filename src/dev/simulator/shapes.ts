import { assertNever } from '../../domain/assertNever.ts'
import type { ShapeFault } from './faults.ts'
import type { EncodedImage, ImageOrder } from './order.ts'
import type { Reply } from './reply.ts'
import { jsonReply } from './reply.ts'

/**
 * Returns an answer with its image in a shape that relays were seen to send, or with more around it. Of the images the
 * last is the one that was ordered, and the first an earlier state of it.
 */
export function shapeReply(
  order: ImageOrder,
  images: readonly EncodedImage[],
  fault: ShapeFault,
): Reply {
  const [draft, image] = [images[0], images.at(-1)]
  if (draft === undefined || image === undefined) return jsonReply(200, {})
  const document = order.answer([image], undefined, '')
  const { mimeType, data } = image
  const dataUrl = `data:${mimeType};base64,${data}`
  const beside = 'x'.repeat(fault.bytes)
  const inData = (item: object) => jsonReply(200, { ...document, data: [item] })
  const inParts = (...parts: readonly object[]) => jsonReply(200, withParts(document, parts))
  switch (fault.as) {
    case 'raw':
      return imageReply(image)
    case 'data-url':
      return {
        A: () => inParts({ fileData: { mimeType, fileUri: dataUrl } }),
        B: () => inData({ url: dataUrl }),
      }[order.family]()
    case 'events':
      return eventsReply(order, document, { draft, image }, fault.end)
    case 'one-event':
      return streamReply(`data: ${JSON.stringify(document)}\n\ndata: [DONE]\n\n`)
    case 'b64':
      return inData({ b64: data })
    case 'flat':
      return jsonReply(200, { created: 1, b64_json: data })
    case 'images':
      return jsonReply(200, { created: 1, images: [data] })
    case 'object':
      return jsonReply(200, { created: 1, data: { b64_json: data } })
    case 'list':
      return jsonReply(200, [document])
    case 'thought':
      return inParts(
        { inlineData: draft, thought: true },
        { inlineData: image, thought: true },
        { text: 'Here is your image.' },
      )
    case 'thought-cut': {
      const cut = { mimeType, data: data.slice(0, data.length / 2) }
      return inParts({ inlineData: draft, thought: true }, { inlineData: cut })
    }
    case 'signed':
      return {
        A: () => inParts({ inlineData: image, thoughtSignature: beside }),
        B: () => inData({ b64_json: data, revised_prompt: beside }),
      }[order.family]()
    case 'nan': {
      const text = JSON.stringify({ ...document, score: 'NaN' })
      return { ...jsonReply(200, {}), body: text.replace('"NaN"', 'NaN') }
    }
    case 'total': {
      const usage = { total_tokens: 14_282, input_tokens: 10, output_tokens: 14_272 }
      return jsonReply(200, { ...document, usage })
    }
    default:
      return assertNever(fault.as)
  }
}

function imageReply({ mimeType, data }: EncodedImage): Reply {
  const body = Buffer.from(data, 'base64')
  return { status: 200, headers: { 'content-type': mimeType }, body }
}

/** Replaces the candidates of an answer of family A. */
function withParts(document: object, parts: readonly object[]): object {
  const content = { parts, role: 'model' }
  return { ...document, candidates: [{ content, finishReason: 'STOP', index: 0 }] }
}

function streamReply(body: string): Reply {
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body }
}

/** The events of a generation or an edit (OpenAI API reference, image streaming): a partial image, and what `end` says. */
function eventsReply(
  { action }: ImageOrder,
  document: object,
  { draft, image }: { readonly draft: EncodedImage; readonly image: EncodedImage },
  end: ShapeFault['end'],
): Reply {
  const name = action === 'edit' ? 'image_edit' : 'image_generation'
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const partial = event(`${name}.partial_image`, {
    b64_json: draft.data,
    partial_image_index: 0,
  })
  const whole = event(`${name}.completed`, { ...document, data: undefined, b64_json: image.data })
  const error = { type: 'image_generation_user_error', code: 'moderation_blocked', message: 'No.' }
  const ends = {
    completed: whole,
    error: event('error', { error }),
    nothing: '',
    cut: whole.slice(0, whole.length / 2),
  }
  return streamReply(`: keep-alive\n\n${partial}${ends[end]}`)
}
