import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readConfig } from '../../src/config/environment.ts'
import { readOperatorSettings } from '../../src/config/operatorSettings.ts'
import { serviceNodeFlags } from '../../src/dev/serviceEnvironment.ts'
import { root, textOf } from '../support/sourceFiles.ts'
import { tempFolder } from '../support/tempFolder.ts'

const chart = join(root, 'deploy/helm/darkroom')
const has = (program: string, ...words: readonly string[]) =>
  spawnSync(program, words, { stdio: 'ignore' }).status === 0
const hasHelm = has('helm', 'version')
const hasValidator = has('kubernetes-validate', '--version')
if (!hasHelm) console.log('helm is not installed: the tests of the chart are skipped')
if (!hasValidator)
  console.log("kubernetes-validate (PyPI) is not installed: Kubernetes' schemas are not checked")

const channel = { name: 'b', family: 'B', baseUrl: 'https://b.example/v1', apiKeyEnv: 'B_KEY' }
const minimal = {
  publicUrl: 'https://images.example.com',
  temporal: { address: 'temporal:7233' },
  blobStore: { url: 's3://images/darkroom' },
  config: { channels: [channel] },
}
const peers = [{ namespaceSelector: { matchLabels: { team: 'platform' } } }]
const sets = {
  minimal,
  everything: {
    ...minimal,
    image: { digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
    syncDeadlineSeconds: 100,
    settings: { RETENTION_SECONDS: '3600', ASSET_REDIRECT: 'on' },
    database: { sessionUrlKey: 'SESSION_URL' },
    blobStore: { ...minimal.blobStore, endpoint: 'https://s3.example.com', existingSecret: 's3' },
    api: {
      preStopSeconds: 20,
      podAnnotations: { a: 'b' },
      nodeSelector: { a: 'b' },
      priorityClassName: 'high',
    },
    worker: {
      autoscaling: { enabled: true },
      extraVolumes: [{ name: 'keys', secret: { secretName: 'keys' } }],
      extraVolumeMounts: [{ name: 'keys', mountPath: '/keys', readOnly: true }],
    },
    ingress: {
      enabled: true,
      className: 'nginx',
      hosts: ['images.example.com'],
      tls: [{ secretName: 'tls' }],
    },
    networkPolicy: {
      enabled: true,
      clients: peers,
      database: { peers },
      extraEgress: [{ ports: [{ port: 4318 }] }],
    },
    metrics: {
      serviceMonitor: { enabled: true },
      prometheusRule: { enabled: true, labels: { release: 'p' } },
    },
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } },
    ],
  },
  'no S3 user': {
    ...minimal,
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/a' } },
  },
  'two channels': {
    ...minimal,
    config: {
      channels: [
        { ...channel, timeoutSeconds: 900.5 },
        { ...channel, name: 'c', timeoutSeconds: 60 },
      ],
      models: [{ name: 'print-3', like: 'familyb-image-2-vip' }],
      prices: [{ model: 'print-3', credits: 90 }],
    },
  },
  'Temporal Cloud': {
    ...minimal,
    temporal: {
      address: 'a.b.tmprl.cloud:7233',
      namespace: 'a.b',
      tls: true,
      existingSecret: 'temporal',
      apiKeyKey: 'KEY',
    },
  },
}

const texts = z.record(z.string(), z.string())
const container = z.looseObject({
  args: z.array(z.string()),
  envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }) })).default([]),
  env: z.array(
    z.strictObject({
      name: z.string(),
      value: z.string().optional(),
      valueFrom: z
        .object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }) })
        .optional(),
    }),
  ),
})
const pod = z.looseObject({
  serviceAccountName: z.string(),
  terminationGracePeriodSeconds: z.number().optional(),
  containers: z.tuple([container]),
})
const manifest = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), annotations: texts.default({}) }),
  data: texts.default({}),
  spec: z.looseObject({}).default({}),
})
const workload = z.looseObject({
  template: z.object({ metadata: z.looseObject({ annotations: texts.default({}) }), spec: pod }),
})

function helm(words: readonly string[], values: object) {
  const options = { input: JSON.stringify(values), encoding: 'utf8', timeout: 60_000 } as const
  return spawnSync('helm', [...words, '--kube-version', '1.33.0', '--values', '-'], options)
}

const rendered = new Map<object, ReturnType<typeof renderOnce>>()

/** The objects that the chart makes of these values. */
function render(values: object) {
  const made = rendered.get(values) ?? renderOnce(values)
  rendered.set(values, made)
  return made
}

function renderOnce(values: object) {
  const made = helm(['template', 'r', chart, '--namespace', 'images'], values)
  expect(made.stderr.replaceAll(/.*found symbolic link.*\n/g, '')).toBe('')
  const manifests = loadAll(made.stdout)
    .filter(Boolean)
    .map((one) => manifest.parse(one))
  const find = (kind: string, name: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === `r-darkroom-${name}`)
  const template = (name: string) => {
    const found = find('Deployment', name) ?? find('Job', name)
    return workload.parse(found?.spec).template
  }
  return {
    text: made.stdout,
    manifests,
    find,
    template,
    pod: (name: string) => template(name).spec,
  }
}

const processes = ['api', 'worker', 'admin'] as const
const names = ({ containers: [{ env, envFrom }] }: z.infer<typeof pod>) => [
  ...env.map(({ name }) => name),
  ...envFrom.map(({ secretRef }) => secretRef.name),
]

describe.skipIf(!hasHelm).each(Object.entries(sets))(
  "Darkroom's chart, with values: %s",
  (_, values) => {
    it('passes helm lint --strict', () => {
      const { status, stdout } = helm(['lint', '--strict', chart], values)
      expect({ status, stdout }).toMatchObject({ status: 0 })
    })

    it.skipIf(!hasValidator)(
      "makes only what Kubernetes' own schemas allow, without an unknown field",
      () => {
        const file = join(tempFolder(), 'objects.yaml')
        writeFileSync(file, render(values).text)
        const { status, stdout } = spawnSync(
          'kubernetes-validate',
          ['--strict', '-k', '1.33', file],
          { encoding: 'utf8' },
        )
        expect({ status, stdout }).toMatchObject({ status: 0 })
      },
    )

    it.each(processes)(
      'gives a process variables and an operator file that it accepts: %s',
      (name) => {
        const { pod, find } = render(values)
        const { env, args } = pod(name).containers[0]
        const secret = 'postgres://role:a-secret-of-Kubernetes@postgres/darkroom'
        const variables = Object.fromEntries(
          env.map(({ name: variable, value }) => [variable, value ?? secret]),
        )
        const given = {
          ...variables,
          ...(name === 'admin' ? { ADMIN_KEYS: 'me:a-secret-of-an-operator' } : {}),
        }
        expect(readConfig(given, name)).toMatchObject({
          internalHost: name === 'admin' ? '127.0.0.1' : '0.0.0.0',
        })
        expect(new Set(env.map(({ name: variable }) => variable)).size).toBe(env.length)
        const path = join(tempFolder(), 'config.json')
        writeFileSync(path, find('ConfigMap', 'config')?.data['config.json'] ?? '')
        expect(readOperatorSettings(path, { withKeys: false }, {}).channels).toHaveLength(
          values.config.channels.length,
        )
        // The image's entry point has the flags that all share.
        expect([...(textOf('Dockerfile').match(/--[\w-]+=\d+(?=")/g) ?? []), ...args]).toEqual(
          expect.arrayContaining([...serviceNodeFlags, `src/${name}.ts`]),
        )
      },
    )

    it('runs every pod without rights: a user by number, a root that is read-only, no token, no links to services', () => {
      const made = render(values)
      for (const name of [...processes, 'migrate']) {
        expect(made.pod(name)).toMatchObject({
          enableServiceLinks: false,
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: expect.arrayContaining([{ name: 'tmp', mountPath: '/tmp' }]),
              resources: { limits: expect.not.objectContaining({ cpu: expect.anything() }) },
            },
          ],
        })
      }
    })

    it.each(processes)(
      'probes /healthz for life and /readyz for requests, and waits 4 s for each: %s',
      (name) => {
        const probe = (path: string) => ({ httpGet: { path }, timeoutSeconds: 4 })
        expect(render(values).pod(name).containers[0]).toMatchObject({
          livenessProbe: probe('/healthz'),
          readinessProbe: probe('/readyz'),
        })
      },
    )

    it('gives each process those secrets that it needs: a worker no pepper, an API no vendor, migrate the owner alone', () => {
      const made = render(values)
      const secrets = [
        'KEY_PEPPER',
        'ADMIN_KEYS',
        'SIGNING_KEYS',
        'WEBHOOK_KEYS',
        'BLOB_STORE',
        'darkroom-credentials',
      ]
      const those = (name: string) =>
        secrets.filter((secret) => names(made.pod(name)).includes(secret))
      expect(those('api')).toEqual(['KEY_PEPPER', 'SIGNING_KEYS', 'WEBHOOK_KEYS', 'BLOB_STORE'])
      expect(those('worker')).toEqual([
        'SIGNING_KEYS',
        'WEBHOOK_KEYS',
        'BLOB_STORE',
        'darkroom-credentials',
      ])
      expect(those('admin')).toEqual([
        'KEY_PEPPER',
        'ADMIN_KEYS',
        'BLOB_STORE',
        'darkroom-credentials',
      ])
      expect(those('migrate')).toEqual([])
      const owner = made.manifests.filter((one) =>
        JSON.stringify(one).includes('darkroom-database-owner'),
      )
      expect(owner.map(({ kind }) => kind)).toEqual(['Job'])
    })

    it('migrates before new pods, again until it is done, with nothing that the chart makes later', () => {
      const { find, pod, manifests } = render(values)
      const job = find('Job', 'migrate')
      const account = find('ServiceAccount', 'migrate')
      const hook = {
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      }
      expect(job?.metadata.annotations).toEqual(hook)
      expect(account?.metadata.annotations).toEqual({ ...hook, 'helm.sh/hook-weight': '-10' })
      expect(job?.spec).toMatchObject({
        backoffLimit: 10,
        template: { spec: { restartPolicy: 'Never' } },
      })
      expect(pod('migrate').serviceAccountName).toBe(account?.metadata.name)
      const used = JSON.stringify(job?.spec)
      const later = manifests.filter(
        ({ kind, metadata }) =>
          kind !== 'NetworkPolicy' && metadata.annotations['helm.sh/hook'] === undefined,
      )
      expect(later.filter(({ metadata: { name } }) => used.includes(`"${name}"`))).toEqual([])
      expect(names(pod('migrate'))).toEqual(
        expect.arrayContaining(['DATABASE_URL', 'TEMPORAL_ADDRESS']),
      )
    })

    it('lets nodes be drained: one API and one worker at a time, what is not ready whenever, admin at once', () => {
      const { manifests } = render(values)
      const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')
      expect(budgets.map(({ metadata }) => metadata.name).sort()).toEqual([
        'r-darkroom-api',
        'r-darkroom-worker',
      ])
      for (const { spec } of budgets) {
        expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
      }
    })

    it('leaves the number of pods to an autoscaler where there is one, which waits as long as a stop may take', () => {
      const { manifests, find, pod } = render(values)
      const scaler = z.object({
        scaleTargetRef: z.object({ name: z.string() }),
        behavior: z.object({ scaleDown: z.object({ stabilizationWindowSeconds: z.number() }) }),
      })
      const scalers = manifests
        .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
        .map(({ spec }) => scaler.parse(spec))
      const scaled = scalers.map(({ scaleTargetRef }) =>
        scaleTargetRef.name.slice('r-darkroom-'.length),
      )
      const counts = ['api', 'worker'].map((name) => find('Deployment', name)?.spec['replicas'])
      expect(counts).toEqual(
        ['api', 'worker'].map((name) => (scaled.includes(name) ? undefined : 2)),
      )
      expect(scaled).toContain('api')
      const tooShort = scalers.filter(
        ({ behavior: { scaleDown } }, index) =>
          scaleDown.stabilizationWindowSeconds <
          (pod(scaled[index] ?? '').terminationGracePeriodSeconds ?? Infinity),
      )
      expect(tooShort).toEqual([])
    })
  },
)

describe.skipIf(!hasHelm)("Darkroom's chart", () => {
  it('gives a stopping API its longest synchronous call and 20 s, a worker the longest call of a channel and a minute', () => {
    const graces = (values: object) => {
      const { pod } = render(values)
      return ['api', 'worker'].map((name) => pod(name).terminationGracePeriodSeconds)
    }
    expect(graces(sets.minimal)).toEqual([300, 660])
    expect(graces(sets['two channels'])).toEqual([300, 961])
    expect(graces(sets.everything)).toEqual([140, 660])
    const { config: _, ...others } = minimal
    expect(graces({ ...others, existingConfigMap: 'mine', longestTimeoutSeconds: 90 })).toEqual([
      300, 150,
    ])
    expect(JSON.stringify(render(sets.everything).pod('api'))).toContain('"command":["sleep","20"]')
    // Without it, a SIGTERM that comes while Node begins is lost.
    expect(render(sets.minimal).pod('worker')['shareProcessNamespace']).toBe(true)
  })

  it('upgrades in two steps: a tag of the API or the workers counts before a digest of the image', () => {
    const images = (image: object, workerTag: string) => {
      const { pod } = render({ ...minimal, image, worker: { tag: workerTag } })
      return ['api', 'worker'].map((name) => pod(name).containers[0]['image'])
    }
    const digest = `sha256:${'a'.repeat(64)}`
    expect(images({ digest }, '1.2.3')).toEqual([`darkroom@${digest}`, 'darkroom:1.2.3'])
    expect(images({ digest, tag: '2.0.0' }, '')).toEqual(Array(2).fill(`darkroom@${digest}`))
    expect(images({ tag: '2.0.0' }, '1.2.3')).toEqual(['darkroom:2.0.0', 'darkroom:1.2.3'])
  })

  it('puts workers on no spot node, tells autoscalers of nodes to leave them, and spreads pods over nodes and zones', () => {
    const { template } = render(minimal)
    expect(template('worker').metadata.annotations).toMatchObject({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      'karpenter.sh/do-not-disrupt': 'true',
    })
    const terms = JSON.stringify(template('worker').spec['affinity'])
    expect(terms.match(/"NotIn","values":\["(?:spot|SPOT|true)"/g)).toHaveLength(4)
    for (const name of ['api', 'worker']) {
      const keys = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']
      expect(template(name).spec['topologySpreadConstraints']).toMatchObject(
        keys.map((topologyKey) => ({ topologyKey })),
      )
    }
  })

  it('restarts the pods when the operator file changes, and not when the chart alone does', () => {
    const checksums = (values: object) =>
      processes.map((name) => render(values).template(name).metadata.annotations['checksum/config'])
    expect(checksums(minimal)).not.toContain(undefined)
    expect(checksums(sets['two channels'])).not.toEqual(checksums(minimal))
    expect(JSON.stringify(render(minimal).template('api'))).not.toContain('helm.sh/chart')
  })

  it.each([
    ['publicUrl', { publicUrl: '' }, 'publicUrl is not set'],
    ['Temporal', { temporal: {} }, 'temporal.address is not set'],
    ['the bucket', { blobStore: {} }, 'blobStore.url is not set'],
    ['channels', { config: {} }, 'config.channels is not set'],
    ['an unknown value', { api: { replica: 3 } }, "additional properties 'replica' not allowed"],
    ['a folder as blob store', { blobStore: { url: 'file:///data' } }, 'does not match pattern'],
    [
      'a variable that the chart sets',
      { settings: { DATABASE_URL: 'x' } },
      "propertyName 'DATABASE_URL'",
    ],
    [
      'more connections than PostgreSQL has',
      { api: { autoscaling: { maxReplicas: 9 } } },
      'may take 340 connections',
    ],
  ])('names what is wrong: %s', (_, change, message) => {
    const made = helm(['template', 'r', chart], { ...minimal, ...change })
    expect(made).toMatchObject({ status: 1, stderr: expect.stringContaining(message) })
  })

  it('lets an API reach the names, PostgreSQL, Temporal and the bucket alone, and a worker its vendors', () => {
    const { find } = render(sets.everything)
    const ports = [[53, 53], [5432], [7233], [443], [4318]]
    expect(find('NetworkPolicy', 'api')?.spec).toMatchObject({
      egress: ports.map((each) => ({ ports: each.map((port) => ({ port })) })),
      ingress: [
        { from: peers, ports: [{ port: 'http' }] },
        { ports: [{ port: 'internal' }, { port: 'temporal' }] },
      ],
    })
    expect(find('NetworkPolicy', 'migrate')?.spec).toMatchObject({
      ingress: [],
      egress: ports.slice(0, 3).map(() => ({})),
    })
    expect(find('NetworkPolicy', 'worker')?.spec['egress']).toEqual([{}])
  })

  it('collects metrics in jobs that the alerts know, and brings the alerts of deploy/alerts.yml', () => {
    const { find } = render(sets.everything)
    const monitor = JSON.stringify(find('ServiceMonitor', 'internal')?.spec)
    expect(monitor.match(/"replacement":"[^"]+"/g)).toEqual([
      '"replacement":"darkroom-$1"',
      '"replacement":"darkroom-temporal"',
    ])
    expect(find('PrometheusRule', 'internal')?.spec).toEqual(load(textOf('deploy/alerts.yml')))
    const { containers } = render(sets.everything).pod('worker')
    expect(containers[0]['ports']).toEqual([
      { name: 'internal', containerPort: 9465 },
      { name: 'temporal', containerPort: 9466 },
    ])
  })
})

it("the chart's README lists its values, and the chart is of the version of package.json", () => {
  const folder = tempFolder()
  cpSync(join(root, 'deploy/helm'), folder, {
    recursive: true,
    filter: (path) => !path.endsWith('alerts.yml'),
  })
  execFileSync(process.execPath, [join(folder, 'readme.mjs')])
  expect(readFileSync(join(folder, 'darkroom/README.md'), 'utf8')).toBe(
    textOf('deploy/helm/darkroom/README.md'),
  )
  const { version } = JSON.parse(textOf('package.json'))
  expect(load(textOf('deploy/helm/darkroom/Chart.yaml'))).toMatchObject({
    version,
    appVersion: version,
  })
})

it('the chart of a release pulls the image that the release publishes', () => {
  const release = textOf('.github/workflows/release.yml')
  const [, line] = /sed -i "s\|\^(.+?)\\\$\|/.exec(release) ?? []
  const values = textOf('deploy/helm/darkroom/values.yaml').split('\n')
  expect(values.filter((each) => each === line)).toEqual(['  repository: darkroom'])
  expect(release).toContain('tags: ${{ needs.version.outputs.image }}:')
})
