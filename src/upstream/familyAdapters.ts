import type { Json, JsonObject } from '../domain/json.ts'
import type { ModelTable } from '../domain/models/modelTable.ts'
import type { Family } from '../domain/models/models.ts'
import type { ChannelPaths } from '../domain/upstream/channel.ts'
import type { UpstreamCall } from '../domain/upstream/upstreamCall.ts'
import type { ParsedVendorError } from './errorAnswer.ts'
import { vendorErrorIn } from './errorAnswer.ts'
import { familyACall } from './familyA.ts'
import { familyBCall } from './familyB.ts'
import type { FamilyCall } from './modelAnswer.ts'
import { responseIdIn } from './requestId.ts'

/** How the models of one family are called. */
export type FamilyAdapter = {
  /**
   * The paths of the vendor's own API. Its list of models costs nothing. Without a path for edits, an edit takes the
   * path `generate`.
   */
  readonly paths: ChannelPaths & Readonly<Record<'generate' | 'check', string>>
  /** The header that carries the credential, in lower case. */
  readonly credentialHeader: string
  /** Prepares the body of a call, and what judges its 2xx answer. */
  readonly prepare: (
    call: UpstreamCall,
    deps: { readonly models: ModelTable; readonly safetySecret: string },
  ) => FamilyCall
  /** Returns the vendor's error from the document of an error body, or `undefined` when it is anything else. */
  readonly errorIn: (document: Json | undefined) => ParsedVendorError | undefined
  /** Returns the id that the vendor gave an answer, where its document has one. */
  readonly requestIdIn: (document: JsonObject) => string | undefined
}

export const familyAdapters: Readonly<Record<Family, FamilyAdapter>> = {
  /** The Gemini API has one method for both actions. */
  A: {
    paths: { generate: '/v1beta/models/{model}:generateContent', check: '/v1beta/models' },
    credentialHeader: 'x-goog-api-key',
    prepare: familyACall,
    errorIn: vendorErrorIn,
    requestIdIn: responseIdIn,
  },
  /** The OpenAI API, and relays that offer models of Google in its format. */
  B: {
    paths: { generate: '/images/generations', edit: '/images/edits', check: '/models' },
    credentialHeader: 'authorization',
    prepare: familyBCall,
    errorIn: vendorErrorIn,
    requestIdIn: responseIdIn,
  },
}
