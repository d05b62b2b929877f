import type { JsonIntakeFailure } from '../../src/streams/intakeFailure.ts'
import type { ReadJsonOptions } from '../../src/streams/json/readJsonDocument.ts'
import { readJsonDocument } from '../../src/streams/json/readJsonDocument.ts'
import { collect, cutAt, streamOf } from './byteStreams.ts'

export const documentOptions: ReadJsonOptions<string> = {
  divert: (path) => path.at(-1) === 'data',
  take: async (content) => (await collect(content)).toString('hex'),
  depthMax: 8,
  tokensMax: 1000,
  textBytesMax: 4096,
  unstorableText: 'refuse',
  equalKeys: 'refuse',
  divertedBytesMax: 1000,
  divertedTotalBytesMax: 1500,
  divertedCountMax: 3,
}

/** Reads a text with small limits. `changed`: other options. `cuts`: where its bytes are cut into chunks. */
export async function readDocument(
  text: string | Uint8Array,
  changed: Partial<ReadJsonOptions<string>> = {},
  cuts: readonly number[] = [],
) {
  const chunks = cutAt(Buffer.from(text), cuts)
  return readJsonDocument(streamOf(chunks), { ...documentOptions, ...changed })
}

/** Returns why a text is refused. */
export async function documentFailure(
  text: string | Uint8Array,
  changed: Partial<ReadJsonOptions<string>> = {},
): Promise<JsonIntakeFailure> {
  const result = await readDocument(text, changed)
  if (result.ok) throw new Error('taken in')
  return result.failure
}
