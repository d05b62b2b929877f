# Debian, not Alpine: the Temporal SDK's native part is built for glibc only.
FROM node:24-trixie-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY tools/*.mjs ./tools/
USER node
ENTRYPOINT ["node"]
CMD ["src/api.ts"]
