const number = new Intl.NumberFormat('en')

/** @param {number} credits */
function count(credits) {
  return `${number.format(credits)} ${credits === 1 ? 'credit' : 'credits'}`
}

/**
 * The words of the playground and the console in English. Another language is a file beside this one, with its code as
 * its name and the same names in it. The browser's preferred languages choose between them.
 */
export const words = {
  close: 'Close',
  credits: { count, held: (/** @type {number} */ credits) => `${count(credits)} held` },
  status: {
    queued: 'queued',
    processing: 'processing',
    succeeded: 'succeeded',
    failed: 'failed',
    expired: 'expired',
  },
  call: {
    noAnswer: 'The API did not answer.',
    status: (/** @type {number} */ status) => `The answer was HTTP ${status}.`,
    again: (/** @type {string} */ time) => `Trying again at ${time}.`,
  },
  signIn: {
    stays: 'Your key stays in this tab until you close it.',
    characters: 'A key has letters, digits and signs only.',
    open: 'Open',
    opening: 'Opening…',
    failed: 'The key was not opened',
    forget: 'Forget key',
  },
  playground: {
    title: 'Make an image.',
    text: 'Describe it, or change one you have.',
    key: 'API key',
    keyHintLocal: 'npm start writes one to .data/demo-key.',
    keyHint: 'The operator of this Darkroom issues keys.',
    noModels: 'This account may use no model.',
    engine: (/** @type {string} */ progress) => `${progress}. Images are made meanwhile.`,
    reference: 'API',
    request: 'Request',
    action: 'Action',
    actions: { generate: 'Generate', edit: 'Edit' },
    prompt: 'Prompt',
    change: 'What to change',
    changeExample: 'Make it night, with the lamp lit',
    model: 'Model',
    fields: { size: 'Size', aspect_ratio: 'Ratio', quality: 'Quality' },
    autoRatio: 'Auto',
    from: (/** @type {string} */ credits) => `from ${credits}`,
    ratios: (/** @type {number} */ ratios) => `${ratios} ratios`,
    qualities: (/** @type {number} */ qualities) => `${qualities} qualities`,
    noEdits: 'no edits',
    make: 'Make the image',
    edit: 'Edit the image',
    sources: 'Source images',
    remove: (/** @type {string} */ name) => `Remove ${name}`,
    choose: 'Choose images',
    drop: ', drop or paste them',
    sourcesHint: 'PNG, JPEG or WebP. Up to 16 images of 20 MiB, 64 MiB in all.',
    pasted: 'The pasted image',
    notAnImage: (/** @type {string} */ name) => `${name} is not a PNG, JPEG or WebP image.`,
    imageAbove: 'The image above',
    empty: 'Your image appears here. Describe it, or begin with one of these.',
    examples: [
      'A lighthouse at dusk',
      'Paper boats on a canal, seen from above',
      'A desk by the window, first snow outside',
    ],
    sending: 'Sending…',
    submit: { waiting: 'Not accepted yet', stopped: 'Not answered', refused: 'Not accepted' },
    sourcesLost:
      'The page was reloaded before the API answered, and the source images are gone. If the API took the request, its task is in the gallery.',
    repeats: 'Repeats never make a second image.',
    tryNow: 'Try now',
    giveUp: 'Give up',
    queued: 'Queued',
    developing: 'Developing',
    imageOf: (/** @type {string} */ model) => `Image of ${model}`,
    cancel: 'Cancel',
    cancelled: 'Cancelled',
    notCancelled: 'Not cancelled',
    editThis: 'Edit this',
    download: 'Download',
    again: 'Again',
    noImage: 'No image',
    failed: 'The task failed.',
    expired: 'Expired.',
    notKept: 'The image is no longer kept.',
    gallery: 'Your images',
    galleryEmpty: 'None yet.',
    galleryFailed: 'The gallery could not be read',
    older: 'Show older ones',
    tryAgain: 'Try again',
  },
}
