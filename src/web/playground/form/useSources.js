import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { keepSources, keptSources } from './keptSources.js'
import { addSourceImages } from './sourceImages.js'

/** @import { NewImage, SourceImage } from './sourceImages.js' */

/**
 * The source images in the form. They outlive a reload.
 */
export function useSources() {
  const [sources, setSources] = useState(/** @type {readonly SourceImage[]} */ ([]))
  const [refusals, setRefusals] = useState(/** @type {readonly string[]} */ ([]))
  const latest = useRef(sources)
  /** Changes wait for each other, because the bytes of files are read asynchronously. */
  const turn = useRef(Promise.resolve())

  /** @param {readonly SourceImage[]} images */
  async function store(images) {
    for (const { url } of latest.current) {
      if (!images.some((image) => image.url === url)) URL.revokeObjectURL(url)
    }
    latest.current = images
    setSources(images)
    await keepSources('draft', images)
  }

  const change = useCallback((/** @type {() => Promise<void>} */ work) => {
    turn.current = turn.current.then(work)
    return turn.current
  }, [])

  useEffect(() => {
    void change(async () => {
      latest.current = await keptSources('draft')
      setSources(latest.current)
    })
  }, [])

  return {
    sources,
    refusals,
    add: useCallback((/** @type {readonly NewImage[]} */ files) => {
      void change(async () => {
        const added = await addSourceImages(latest.current, files)
        setRefusals(added.refusals)
        await store(added.images)
      })
    }, []),
    /** @param {readonly NewImage[]} files */
    replace: (files) => {
      void change(async () => {
        const added = await addSourceImages([], files)
        setRefusals(added.refusals)
        await store(added.images)
      })
    },
    /**
     * Says something below the images.
     * @param {string} text
     */
    say: (text) => setRefusals([text]),
    /** @param {string} id */
    remove: (id) => {
      setRefusals([])
      void change(() => store(latest.current.filter((image) => image.id !== id)))
    },
  }
}
