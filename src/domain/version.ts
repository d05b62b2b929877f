import manifest from '../../package.json' with { type: 'json' }

/** Darkroom's version, by [Semantic Versioning](https://semver.org). package.json is the one place that has it. */
export const { version } = manifest
