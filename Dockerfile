# Debian, because the Temporal SDK's native library needs glibc, which Alpine does not have.
# The exact version, the same as in package-lock.json. To pin the content of the image too, append the digest that
# `docker buildx imagetools inspect IMAGE` prints.
FROM node:24.21.0-trixie-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# Without the development dependencies, which only `npm start` and `npm test` need.
# The image has its own Node, so it does not keep the one from npm.
RUN npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node \
  && npm cache clean --force
# .dockerignore leaves out src/dev, the embedded stack and the simulator of `npm start`.
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
# The guide that /docs shows.
COPY docs/*.md ./docs/
COPY tools/*.mjs ./tools/
# So that a worker need not make the script of its workflows at each start.
RUN node -e "import('./src/temporal/worker/workflowBundle.ts').then((m) => m.workflowBundle())"
# The user `node`, by number: Kubernetes compares it with `runAsNonRoot`.
USER 1000:1000
# src/dev/serviceEnvironment.ts says why.
ENV MALLOC_ARENA_MAX=2
ENTRYPOINT ["node", "--max-semi-space-size=4", "--v8-pool-size=1", "--heap-growing-percent=100"]
CMD ["src/api.ts"]
