import { useCallback, useRef, useState } from 'preact/hooks'
import { addSourceImages } from './sourceImages.js'

/** @import { NewImage, SourceImage } from './sourceImages.js' */

/** The source images in the form. A reload forgets them. */
export function useSources() {
  const [sources, setSources] = useState(/** @type {readonly SourceImage[]} */ ([]))
  const [refusals, setRefusals] = useState(/** @type {readonly string[]} */ ([]))
  const latest = useRef(sources)
  /** Additions wait for each other, because the bytes of files are read asynchronously. */
  const turn = useRef(Promise.resolve())

  const store = (/** @type {readonly SourceImage[]} */ images) => {
    for (const { url } of latest.current) {
      if (!images.some((image) => image.url === url)) URL.revokeObjectURL(url)
    }
    latest.current = images
    setSources(images)
  }
  const add = useCallback((/** @type {readonly NewImage[]} */ files, replace = false) => {
    turn.current = turn.current.then(async () => {
      const added = await addSourceImages(replace ? [] : latest.current, files)
      setRefusals(added.refusals)
      store(added.images)
      return undefined
    })
  }, [])
  return {
    sources,
    refusals,
    add,
    /** @param {readonly NewImage[]} files */
    replace: (files) => add(files, true),
    /** @param {string} id */
    remove: (id) => {
      setRefusals([])
      store(latest.current.filter((image) => image.id !== id))
    },
  }
}
