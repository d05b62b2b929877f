import type { Family } from '../../src/domain/models/models.ts'

type Image = { readonly url: string; readonly mimeType: string; readonly data: string }

/** Where the families put an image into their native response: by address, and with its bytes inside. */
export const nativeImages: Readonly<
  Record<
    Family,
    {
      find: (native: unknown) => unknown
      byUrl: (i: Image) => object
      inside: (i: Image) => object
    }
  >
> = {
  A: {
    find: (native) => {
      const parts: readonly object[] = Object(native).candidates[0].content.parts
      return parts.find((part) => 'inlineData' in part || 'fileData' in part)
    },
    byUrl: ({ url, mimeType }) => ({ fileData: { mimeType, fileUri: url } }),
    inside: ({ mimeType, data }) => ({ inlineData: { mimeType, data } }),
  },
  B: {
    find: (native) => Object(native).data[0],
    byUrl: ({ url }) => ({ url }),
    inside: ({ data }) => ({ b64_json: data }),
  },
}
