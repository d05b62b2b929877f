import { keep, randomName, recall } from '../session.js'

/** @import { SourceImage } from './sourceImages.js' */

/**
 * Keeps source images over a reload. They are too large for session storage, so they are in IndexedDB, under a
 * random name that only this tab knows. Images that a tab left behind are removed after a day.
 */
const databaseName = 'darkroom'
const storeName = 'sources'
const keptMs = 24 * 60 * 60 * 1000

/**
 * `draft`: the images in the form. `pending`: the images of a submit that is not answered yet, which stay the
 * same while the user changes the form.
 * @typedef {'draft' | 'pending'} Purpose
 *
 * @typedef {{ readonly savedAtMs: number, readonly images: readonly Omit<SourceImage, 'url'>[] }} KeptSet
 */

/**
 * Stores source images of this tab, in place of earlier ones for the same purpose. Where the browser forbids
 * it, they are lost by a reload.
 * @param {Purpose} purpose
 * @param {readonly SourceImage[]} sources
 */
export async function keepSources(purpose, sources) {
  const images = sources.map(({ url: _url, ...image }) => image)
  const put = async (/** @type {IDBObjectStore} */ store) => {
    const name = `${tabName()} ${purpose}`
    if (images.length === 0) await done(store.delete(name))
    else await done(store.put({ savedAtMs: Date.now(), images }, name))
  }
  await withStore(put).catch(() => undefined)
}

/**
 * Returns the source images that this tab stored. First removes all images that any tab stored more than a day ago.
 * @param {Purpose} purpose
 * @returns {Promise<readonly SourceImage[]>}
 */
export async function keptSources(purpose) {
  /** @param {IDBObjectStore} store @returns {Promise<readonly SourceImage[]>} */
  const read = async (store) => {
    for (const name of await done(store.getAllKeys())) {
      /** @type {KeptSet | undefined} */
      const set = await done(store.get(name))
      if (set !== undefined && set.savedAtMs < Date.now() - keptMs) await done(store.delete(name))
    }
    /** @type {KeptSet | undefined} */
    const mine = await done(store.get(`${tabName()} ${purpose}`))
    return (mine?.images ?? []).map((image) => ({
      ...image,
      url: URL.createObjectURL(image.blob),
    }))
  }
  return withStore(read).catch(() => [])
}

/** @returns {string} */
function tabName() {
  const name = recall('tab', randomName())
  keep('tab', name)
  return name
}

/**
 * @template T
 * @param {(store: IDBObjectStore) => Promise<T>} work
 */
async function withStore(work) {
  const opening = indexedDB.open(databaseName, 1)
  opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(storeName))
  const database = await done(opening)
  try {
    return await work(database.transaction(storeName, 'readwrite').objectStore(storeName))
  } finally {
    database.close()
  }
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error))
  })
}
