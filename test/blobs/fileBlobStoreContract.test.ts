import { pathToFileURL } from 'node:url'
import { blobStoreContract } from './blobStoreContract.ts'

blobStoreContract('files', (folder) => pathToFileURL(folder).href)
