import { useCallback, useState } from 'preact/hooks'
import { words } from 'words'
import { imageType } from './sourceImages.js'

/** @import { NewImage, SourceImage } from './sourceImages.js' */

/** The source images in the form. A reload forgets them. The API checks their number and size. */
export function useSources() {
  const [sources, setSources] = useState(/** @type {readonly SourceImage[]} */ ([]))
  const [refusals, setRefusals] = useState(/** @type {readonly string[]} */ ([]))
  const add = useCallback(async (/** @type {readonly NewImage[]} */ files, replace = false) => {
    /** @type {SourceImage[]} */
    const images = []
    /** @type {string[]} */
    const refused = []
    for (const file of files) {
      // A folder that is dropped looks like a file that cannot be read.
      const mimeType = await imageType(file.blob).catch(() => undefined)
      if (mimeType) images.push({ ...file, mimeType })
      else refused.push(words.playground.notAnImage(file.name))
    }
    setRefusals(refused)
    setSources((now) => [...(replace ? [] : now), ...images])
  }, [])
  return {
    sources,
    refusals,
    add,
    /** @param {SourceImage} image */
    remove: (image) => setSources((now) => now.filter((each) => each !== image)),
  }
}
