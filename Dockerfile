# The image of the service. To pin its base by digest: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional
COPY . .
RUN npm run build && npm prune --omit=dev --omit=optional \
 && chmod +x dist/src/commands/keys.js && chmod -R a+rX package.json dist

FROM ${NODE_IMAGE}
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Pet Categories" \
      org.opencontainers.image.description="HTTP API for the pets of a shop, their categories and their orders" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /usr/bin/tini-static /usr/local/bin/tini
# Production needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
 && ln -s /app/dist/src/commands/keys.js /usr/local/bin/pet-categories-keys
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
ENV NODE_ENV=production HOST=0.0.0.0
USER node
EXPOSE 3000
# By bash itself, since a Node.js process every 5 s would take more CPU than an idle replica.
HEALTHCHECK --interval=5s --timeout=3s --start-period=2m --start-interval=500ms CMD ["bash", "-c", "\
  exec 3<>/dev/tcp/127.0.0.1/${PORT:-3000}; \
  printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; \
  read -r _ status _ <&3; \
  [ \"$status\" = 200 ]"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "dist/src/main.js"]
