# Debian, because the Temporal SDK's native library needs glibc, which Alpine does not have.
FROM node:24-trixie-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# Without the development dependencies, which only `npm start` and `npm test` need.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
# .dockerignore leaves out src/dev, the embedded stack and the simulator of `npm start`.
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY tools/*.mjs ./tools/
USER node
ENTRYPOINT ["node"]
CMD ["src/api.ts"]
