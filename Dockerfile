# The image of the service.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

# On the platform of the builder: the result runs on all.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without the embedded PostgreSQL, which is for development.
RUN npm ci --omit=optional
COPY . .
RUN npm run build && npm prune --omit=dev --omit=optional && chmod +x dist/src/commands/*.js

FROM ${NODE_IMAGE}
# Production needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/np[mx] /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
 && ln -s /app/dist/src/commands/keys.js /usr/local/bin/pet-categories-keys \
 && ln -s /app/dist/src/commands/migrate.js /usr/local/bin/pet-categories-migrate
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
ENV NODE_ENV=production HOST=0.0.0.0
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=5s --start-period=2m --start-interval=1s CMD ["node", "-e", \
  "http.get({ host: '127.0.0.1', port: process.env.PORT || 3000, path: '/readyz', agent: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))"]
# The service is process 1, and handles signals.
ENTRYPOINT []
CMD ["node", "dist/src/main.js"]
