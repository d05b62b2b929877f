import type { AnyAnswer, KnownPicture } from './anyAnswer.ts'

/** What a plain decoder finds in an answer, by the widths of its pictures. */
export type Found = {
  /** Those of which one must be delivered, if there are any. */
  readonly finals: readonly number[]
  /** Those that stand in the answer as anything else: drafts, thoughts, inputs. */
  readonly others: readonly number[]
  /** The one that must be delivered because the model has ended well, and it is the last and only kind of picture. */
  readonly lastThought?: number
}

/**
 * Finds the pictures that are whole in `data`, in `candidates`, in the events or as the body: with JSON.parse and
 * Buffer.from alone, so that it shares nothing with what it is compared with.
 */
export function decodePlainly(
  { family, body, contentType }: AnyAnswer,
  pictures: readonly KnownPicture[],
): Found {
  const raw = pictures.find(({ bytes }) => bytes.equals(body))
  if (raw !== undefined) return { finals: [raw.width], others: [] }
  const text = body.toString().replace(/^\uFEFF/, '')
  if (contentType !== 'text/event-stream') {
    const { lastThought, ...found } = inDocument(parsed(text), pictures)
    // Family B marks nothing so.
    return family === 'A' && lastThought !== undefined ? { ...found, lastThought } : found
  }
  const events = text
    .split('\n\n')
    .map((event) => parsed(/^data: (.*)$/m.exec(event.trim())?.[1] ?? ''))
  const found = events.map((event) => inEvent(event, pictures))
  return {
    finals: found.flatMap(({ finals }) => finals),
    others: found.flatMap(({ others }) => others),
  }
}

function inEvent(event: unknown, pictures: readonly KnownPicture[]): Found {
  const type = isObject(event) ? event['type'] : undefined
  const { finals, others } = walk(event, pictures)
  return typeof type !== 'string' || type.endsWith('.completed')
    ? { finals, others }
    : { finals: [], others: [...finals, ...others] }
}

function inDocument(document: unknown, pictures: readonly KnownPicture[]): Found {
  const items = Array.isArray(document) && document.length === 1 ? document[0] : document
  if (!isObject(items)) return { finals: [], others: [] }
  const promised = [items['data'], items['candidates']].map((value) => walk(value, pictures))
  const everywhere = walk(items, pictures)
  const lastThought = thoughtIn(items, pictures)
  return {
    finals: promised.flatMap(({ finals }) => finals),
    // What stands elsewhere may be delivered, and need not.
    others: everywhere.others.filter((width) => !everywhere.finals.includes(width)),
    ...(lastThought !== undefined && everywhere.finals.length === 0 ? { lastThought } : {}),
  }
}

function thoughtIn(document: Fields, pictures: readonly KnownPicture[]): number | undefined {
  const candidates = document['candidates']
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined
  if (!isObject(candidate) || candidate['finishReason'] !== 'STOP') return undefined
  const content = candidate['content']
  const parts: unknown = isObject(content) ? content['parts'] : undefined
  const list: readonly unknown[] = Array.isArray(parts) ? parts : []
  const images = list.filter(
    (part) =>
      isObject(part) && ['inlineData', 'inline_data', 'fileData'].some((name) => name in part),
  )
  const isAlone = images.every((part) => isObject(part) && part['thought'] === true)
  return isAlone ? walk(images.at(-1), pictures).others[0] : undefined
}

/** Finds the pictures below a value. Those below a thought or a partial image are others. */
function walk(value: unknown, pictures: readonly KnownPicture[], isDraft = false): Found {
  if (typeof value === 'string') {
    const letters = value.replace(/^data:[^,]*,/, '')
    const bytes = Buffer.from(letters, 'base64')
    const width = pictures.find((picture) => picture.bytes.equals(bytes))?.width
    if (width === undefined) return { finals: [], others: [] }
    return isDraft ? { finals: [], others: [width] } : { finals: [width], others: [] }
  }
  const isArray = Array.isArray(value)
  if (!isArray && !isObject(value)) return { finals: [], others: [] }
  const drafts =
    isDraft ||
    (isObject(value) && (value['thought'] === true || /partial/.test(String(value['type']))))
  const found = Object.entries(value).map(([name, member]) =>
    walk(member, pictures, drafts || name.includes('partial')),
  )
  return {
    finals: found.flatMap(({ finals }) => finals),
    others: found.flatMap(({ others }) => others),
  }
}

type Fields = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
